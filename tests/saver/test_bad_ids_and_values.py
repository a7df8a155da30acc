"""Ids and values that callers should not pass, or that only look as if: a typed error, or exactly what was meant."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_portable_checkpoint import errors
from tests.saver.calls import Calls
from tests.saver.checkpoints import chain, checkpoint, config, metadata
from tests.saver.conftest import SaverFactory
from tests.saver.model import ModelSaver
from tests.saver.same import assert_same, comparable

NO_IDS: list[Any] = [None, "", 7, 1.5, True, b"bytes", ["a"], {"$ne": ""}, ("a",), "lone \ud800 surrogate"]
ODD_IDS = [
    *(
        ":",
        "a:b",
        "|",
        "{x}",
        "}{",
        "*",
        "?",
        "[a-z]",
        "\\",
        "/",
        "../..",
        " ",
        "  ",
        "%7B",
        "%",
        "\n",
        "'\"`;--",
        "$ref",
    ),
    *(
        "ünï — 言葉 🙂",
        "a\x00b",
        "\x00",
        "\x01",
        "\x01\x01",
        "\x7f",
        "\ufeff",
        "e\u0301",
        "\u00e9",
        "x" * 4096,
        "child:1|grand:2|" * 100,
    ),
]


@pytest.mark.parametrize("thread_id", NO_IDS, ids=repr)
def test_thread_id_that_is_no_id_is_refused_everywhere(saver: Any, calls: Calls, thread_id: Any) -> None:
    place = {"configurable": {"thread_id": thread_id, "checkpoint_ns": "", "checkpoint_id": "1"}}
    attempts: list[tuple[str, tuple[Any, ...]]] = [
        ("get_tuple", (place,)),
        ("put", (place, checkpoint({}), {}, {})),
        ("put_writes", (place, [("n", 1)], "task")),
        ("delete_thread", (thread_id,)),
        ("copy_thread", (thread_id, "target")),
        ("copy_thread", ("source", thread_id)),
        ("prune", ([thread_id],)),
    ]
    for name, args in attempts:
        with pytest.raises(errors.InvalidIdError) as caught:
            calls.run(saver, name, *args)
        assert "thread_id" in str(caught.value), name
    with pytest.raises(errors.InvalidIdError):
        calls.list(saver, place)


def test_missing_thread_id_is_refused_with_advice(saver: Any, calls: Calls) -> None:
    with pytest.raises(errors.InvalidIdError, match="thread_id"):
        calls.get_tuple(saver, {"configurable": {}})


@pytest.mark.parametrize("field", ["checkpoint_ns", "checkpoint_id"])
@pytest.mark.parametrize("value", [7, b"x", ["a"], {"$gt": ""}, "\ud800"], ids=repr)
def test_other_ids_that_are_no_text_are_refused(saver: Any, calls: Calls, field: str, value: Any) -> None:
    place = config("t", "1")
    place["configurable"][field] = value
    for name, args in (("get_tuple", ()), ("put", (checkpoint({}), {}, {})), ("put_writes", ([("n", 1)], "task"))):
        with pytest.raises(errors.InvalidIdError) as caught:
            calls.run(saver, name, place, *args)
        assert field in str(caught.value)


def test_writes_need_a_checkpoint_id(saver: Any, calls: Calls) -> None:
    with pytest.raises(errors.InvalidIdError, match="checkpoint_id"):
        calls.put_writes(saver, config("t"), [("n", 1)], "task")


def test_task_id_that_is_no_text_is_refused(saver: Any, calls: Calls) -> None:
    with pytest.raises(errors.InvalidIdError, match="task_id"):
        calls.put_writes(saver, config("t", "1"), [("n", 1)], None)


def test_the_longest_ids_are_taken_and_longer_ones_refused(saver: Any, make_saver: SaverFactory, calls: Calls) -> None:
    longest, task_id = "x" * 65_536, "y" * 65_500
    place = calls.put(saver, config(longest, ns=longest), checkpoint({}, checkpoint_id=longest), metadata(), {})
    for value in (1, 2):
        calls.put_writes(saver, place, [("n", value), ("__interrupt__", value)], task_id, longest)
    found = calls.get_tuple(make_saver(), place)
    assert found is not None
    assert sorted(found.pending_writes or ()) == [(task_id, "__interrupt__", 2), (task_id, "n", 1)]
    too_long = longest + "x"
    for refused in (config(too_long), config("t", ns=too_long), config("t", too_long)):
        with pytest.raises(errors.InvalidIdError, match="65536"):
            calls.get_tuple(saver, refused)
    for ids in ((task_id + "y",), ("task", too_long)):
        with pytest.raises(errors.InvalidIdError, match="limit"):
            calls.put_writes(saver, place, [("n", 1)], *ids)


def test_unknown_ids_are_simply_not_found(saver: Any, calls: Calls) -> None:
    chain(calls, saver, "t", 2)
    for place in (config("unknown"), config("t", "unknown"), config("t", ns="unknown"), config("unknown", "unknown")):
        assert calls.get_tuple(saver, place) is None
        assert calls.list(saver, place) == []
    calls.run(saver, "delete_thread", "unknown")
    calls.run(saver, "delete_for_runs", ["unknown"])
    calls.run(saver, "prune", ["unknown"])


@pytest.mark.parametrize("odd", ODD_IDS, ids=lambda odd: ascii(odd)[:30])
def test_ids_of_any_characters_are_kept_apart_and_deleted_whole(
    saver: Any, make_saver: SaverFactory, oracle: ModelSaver, calls: Calls, odd: str
) -> None:
    for thread_id, ns, checkpoint_id in ((odd, odd, odd), (odd, "", "1"), (f"{odd}x", odd, odd), ("a", odd, "2")):
        made = checkpoint({odd: thread_id, "n": ns}, checkpoint_id=checkpoint_id)
        for each in (saver, oracle):
            put = calls.put(each, config(thread_id, ns=ns), made, {"source": odd, odd: odd}, {odd: 1, "n": 1})
            calls.put_writes(each, put, [(odd, odd), ("n", b"")], odd, odd)
    for asked in (
        config(odd, odd, ns=odd),
        config(odd),
        config("a", ns=odd),
        config("a", odd, ns=odd),
        config(odd, ns=odd),
    ):
        assert_same(comparable(calls.get_tuple(saver, asked)), comparable(oracle.get_tuple(asked)))
        assert_same([*map(comparable, calls.list(saver, asked))], [*map(comparable, oracle.list(asked))])
    for each in (saver, oracle):
        calls.run(each, "delete_thread", odd)
    assert len(calls.list(saver, None)) == 2
    for thread_id in (f"{odd}x", "a"):
        calls.run(saver, "delete_thread", thread_id)
    assert [key for key in make_saver.stored() if not key.endswith(b":gone")] == []


PAIRS = [
    (("a", "b:c"), ("a:b", "c")),
    (("a", "b\x00c"), ("a\x00b", "c")),
    (("a", "\x01"), ("a\x01", "")),
    (("é", ""), ("e\u0301", "")),
]


@pytest.mark.parametrize("pair", PAIRS, ids=ascii)
def test_ids_that_read_alike_when_joined_stay_apart(saver: Any, calls: Calls, pair: Any) -> None:
    for number, (ns, checkpoint_id) in enumerate(pair):
        made = checkpoint({"n": number}, checkpoint_id=f"{checkpoint_id}!")
        calls.put_writes(
            saver, calls.put(saver, config("t", ns=ns), made, {}, {"n": 1}), [("n", number)], f"{ns}{checkpoint_id}"
        )
    for number, (ns, checkpoint_id) in enumerate(pair):
        found = calls.get_tuple(saver, config("t", f"{checkpoint_id}!", ns=ns))
        assert found is not None
        assert found.checkpoint["channel_values"] == {"n": number}
        assert [value for *_, value in found.pending_writes or ()] == [number]


def test_tasks_whose_ids_read_alike_when_joined_stay_apart(saver: Any, calls: Calls) -> None:
    (put,) = chain(calls, saver, "t", 1)
    for task_id in ("t", "t1", "t\x00", "t\x001", "\x01", ":", "1:1"):
        calls.put_writes(saver, put, [("n", task_id), ("n", 2)], task_id)
    found = calls.get_tuple(saver, put)
    assert found is not None
    assert len(found.pending_writes or ()) == 14


def _cyclic() -> Any:
    value: list[Any] = []
    value.append({"self": value})
    return value


BAD_VALUES: dict[str, Callable[[], Any]] = {
    "object": object,
    "function": lambda: lambda: None,
    "fraction": lambda: Fraction(1, 3),
    "complex": lambda: 1j,
    "huge int": lambda: 2**64,
    "huge negative int": lambda: -(2**63) - 1,
    "deep in a list": lambda: [HumanMessage(str(number)) for number in range(100)] + [[{"k": (object(),)}]],
    "in a message": lambda: [AIMessage("x", additional_kwargs={"bad": object()})],
    "cyclic": _cyclic,
}


@pytest.mark.parametrize("name", BAD_VALUES)
def test_value_that_cannot_be_stored_is_named_and_nothing_is_stored(
    saver: Any, make_saver: SaverFactory, calls: Calls, name: str
) -> None:
    place = chain(calls, saver, "t", 2)[-1]
    before = _dump(make_saver)
    values = {"good": [HumanMessage("fine")], "the bad:one": BAD_VALUES[name](), "other": 1}
    attempts: list[tuple[str, tuple[Any, ...]]] = [
        ("put", (place, checkpoint(values), metadata(3), dict.fromkeys(values, 9))),
        ("put", (config("fresh"), checkpoint(values), metadata(3), dict.fromkeys(values, 9))),
        ("put_writes", (place, list(values.items()), "task")),
    ]
    for method, args in attempts:
        with pytest.raises(errors.UnserializableValueError) as caught:
            calls.run(saver, method, *args)
        assert caught.value.channel == "the bad:one"
    assert _dump(make_saver) == before
    found = calls.get_tuple(saver, config("t"))
    assert found is not None
    assert found.pending_writes == []


def test_metadata_that_cannot_be_stored_stores_nothing(saver: Any, make_saver: SaverFactory, calls: Calls) -> None:
    with pytest.raises(errors.UnserializableValueError, match="metadata"):
        calls.put(saver, config("t"), checkpoint({"n": 1}), {"source": "loop", "bad": object()}, {"n": 1})
    assert _dump(make_saver) == {}


def _dump(factory: SaverFactory) -> dict[bytes, Any]:
    """Return all that is stored, so that two dumps can be compared."""
    found: dict[bytes, Any] = {}
    with factory.room.client() as client:
        for key in factory.stored():
            read = {b"hash": client.hgetall, b"zset": lambda key: client.zrange(key, 0, -1), b"set": client.smembers}
            found[key] = read.get(client.type(key), client.get)(key)
    return found


@pytest.mark.parametrize(
    "durability",
    [
        "sync",
        "async",
    ],
)
def test_thread_deleted_during_a_run_is_not_brought_back(
    saver: Any, make_saver: SaverFactory, calls: Calls, durability: str
) -> None:
    """By default LangGraph saves in the background: the writes of later nodes are sent before the refusal is seen."""

    def erase(state: MessagesState) -> Any:
        while saver.get_tuple(config("t")) is None:  # else it may be deleted before it is begun
            time.sleep(0.01)
        time.sleep(0.1)  # what was sent beside the first checkpoint may be under way, as what begins the thread
        saver.delete_thread("t")
        return {"messages": [AIMessage("too late")]}

    builder = StateGraph(MessagesState).add_sequence(
        [
            ("erase", erase),
            *((name, lambda state: {"messages": [AIMessage("later")]}) for name in ("after", "then", "end")),
        ]
    )
    graph = builder.add_edge(START, "erase").compile(checkpointer=saver)
    with pytest.raises(errors.ThreadDeletedError) as caught:
        calls.run(graph, "invoke", {"messages": [HumanMessage("hi")]}, config("t"), durability=durability)
    assert caught.value.thread_id == "t"
    assert calls.list(saver, None) == []
    assert [key for key in make_saver.stored() if not key.endswith(b":gone")] == []


def test_late_writers_of_a_thread_that_only_had_writes_are_refused(saver: Any, calls: Calls) -> None:
    place = config("t", "5")
    calls.put_writes(saver, place, [("n", 1)], "task")
    calls.run(saver, "delete_thread", "t")
    with pytest.raises(errors.ThreadDeletedError):
        calls.put_writes(saver, place, [("n", 1)], "task")


def test_late_writers_of_a_deleted_thread_are_refused_also_after_a_new_start(
    saver: Any, make_saver: SaverFactory, calls: Calls
) -> None:
    late = chain(calls, saver, "t", 3)[1]
    calls.run(make_saver(), "delete_thread", "t")
    for _ in range(2):
        with pytest.raises(errors.ThreadDeletedError):
            calls.put_writes(saver, late, [("n", 1)], "task")
        with pytest.raises(errors.ThreadDeletedError):
            calls.put(saver, late, checkpoint({"n": 1}), metadata(), {"n": 5})
        fresh = calls.put(saver, config("t"), checkpoint({"n": "new"}), metadata(), {"n": 1})
    found = calls.get_tuple(make_saver(), config("t"))
    assert found is not None
    assert found.checkpoint["channel_values"] == {"n": "new"}
    assert len(calls.list(saver, config("t"))) == 2
    calls.put_writes(saver, fresh, [("n", 2)], "task")


def test_late_writers_of_any_earlier_life_of_a_thread_are_refused(saver: Any, calls: Calls) -> None:
    """A later life may have had lower checkpoint ids: those of an imported thread, or of a clock that went back."""
    for checkpoint_id in ("5", "3"):
        calls.put(saver, config("t"), checkpoint({}, checkpoint_id=checkpoint_id), metadata(), {})
        calls.run(saver, "delete_thread", "t")
    for late in ("5", "3"):
        with pytest.raises(errors.ThreadDeletedError):
            calls.put(saver, config("t", late), checkpoint({}, checkpoint_id="6"), metadata(), {})
        with pytest.raises(errors.ThreadDeletedError):
            calls.put_writes(saver, config("t", late), [("n", 1)], "task")


@pytest.mark.parametrize("writes", [[], ["9", "3"]], ids=["checkpoints", "checkpoints and writes"])
def test_late_writers_that_never_saw_the_thread_are_refused(
    make_saver: SaverFactory, calls: Calls, writes: list[str]
) -> None:
    """Whatever came last: the highest id that the thread had is what counts, of checkpoints and of writes."""
    saver = make_saver()
    for checkpoint_id in ("2", "7", "5"):
        calls.put(saver, config("t"), checkpoint({}, checkpoint_id=checkpoint_id), metadata(), {})
    for checkpoint_id in writes:
        calls.put_writes(saver, config("t", checkpoint_id), [("n", 1)], "task")
    calls.run(saver, "delete_thread", "t")
    for late in ("2", "5", "7", *writes):
        with pytest.raises(errors.ThreadDeletedError):
            calls.put_writes(make_saver(), config("t", late), [("n", 1)], "task")
        with pytest.raises(errors.ThreadDeletedError):
            calls.put(make_saver(), config("t", late), checkpoint({}), metadata(), {})
    assert calls.list(make_saver(), None) == []
    calls.put_writes(make_saver(), config("t", "91"), [("n", 1)], "task")


@pytest.mark.parametrize("own", [False, True])
def test_writes_ahead_of_their_checkpoint_do_not_bring_a_thread_back(
    make_saver: SaverFactory, calls: Calls, own: bool
) -> None:
    """A run sends the writes of its next step before it hears that the step was refused."""
    saver = make_saver()
    calls.put(saver, config("t"), checkpoint({}, checkpoint_id="1"), metadata(), {})
    calls.run(saver if own else make_saver(), "delete_thread", "t")
    for _ in range(2):
        with pytest.raises(errors.ThreadDeletedError):
            calls.put_writes(saver, config("t", "2"), [("n", 1)], "task")
    assert len(make_saver.stored()) == 1, "nothing but the tombstone"


def test_writes_after_a_thread_has_run_out_begin_it_anew(make_saver: SaverFactory, calls: Calls) -> None:
    """Nobody deleted it: there is no tombstone."""
    saver = make_saver()
    calls.put(saver, config("t"), checkpoint({}, checkpoint_id="1"), metadata(), {})
    with make_saver.room.client() as client:
        client.delete(*make_saver.stored())
    calls.put_writes(saver, config("t", "2"), [("n", 1)], "task")
    place = calls.put(saver, config("t"), checkpoint({}, checkpoint_id="2"), metadata(), {})
    found = calls.get_tuple(make_saver(), place)
    assert found is not None
    assert found.pending_writes == [("task", "n", 1)]


def test_writes_after_the_tombstone_has_run_out_begin_a_thread_anew(make_saver: SaverFactory, calls: Calls) -> None:
    saver = make_saver()
    calls.put(saver, config("t"), checkpoint({}, checkpoint_id="1"), metadata(), {})
    calls.run(saver, "delete_thread", "t")
    with make_saver.room.client() as client:
        client.delete(*make_saver.stored())
    calls.put_writes(saver, config("t", "2"), [("n", 1)], "task")
    place = calls.put(make_saver(), config("t"), checkpoint({}, checkpoint_id="2"), metadata(), {})
    found = calls.get_tuple(make_saver(), place)
    assert found is not None
    assert found.pending_writes == [("task", "n", 1)]


def test_writes_after_a_later_life_has_run_out_begin_a_thread_anew_beside_the_tombstone(
    make_saver: SaverFactory, calls: Calls
) -> None:
    saver = make_saver()
    calls.put(saver, config("t"), checkpoint({}, checkpoint_id="1"), metadata(), {})
    calls.run(saver, "delete_thread", "t")
    calls.put(saver, config("t"), checkpoint({}, checkpoint_id="1"), metadata(), {})
    with make_saver.room.client() as client:
        client.delete(*(key for key in make_saver.stored() if not key.endswith(b":gone")))
    saver._core.views.drop("t")  # as when many other threads were met since
    calls.put_writes(saver, config("t", "2"), [("n", 1)], "task")
    assert any(key.endswith(b":writes") for key in make_saver.stored())


def test_writes_of_a_new_life_are_taken_beside_a_tombstone(make_saver: SaverFactory, calls: Calls) -> None:
    """A checkpoint of the new life may have a lower id than the old one had."""
    saver = make_saver()
    calls.put(saver, config("t"), checkpoint({}, checkpoint_id="5"), metadata(), {})
    calls.run(saver, "delete_thread", "t")
    place = calls.put(saver, config("t"), checkpoint({}, checkpoint_id="4"), metadata(), {})
    calls.put_writes(saver, place, [("n", 1)], "task")
    calls.put_writes(make_saver(), place, [("n", 2)], "other task")
    calls.put(make_saver(), place, checkpoint({}, checkpoint_id="41"), metadata(), {})
    found = calls.list(make_saver(), config("t"))
    assert [(each.checkpoint["id"], len(each.pending_writes)) for each in found] == [("41", 0), ("4", 2)]


@pytest.mark.parametrize("on_conflict", ["allow", "raise"])
def test_parent_that_was_never_stored_is_no_obstacle(
    make_saver: SaverFactory, oracle: ModelSaver, calls: Calls, on_conflict: str
) -> None:
    """As for a thread that comes from elsewhere without its beginning."""
    made = checkpoint({"n": 1})
    for saver in (make_saver(on_conflict=on_conflict), oracle):
        calls.put(saver, config("t", "never stored"), made, metadata(), {"n": 1})
    found = calls.get_tuple(make_saver(), config("t"))
    expected = calls.get_tuple(oracle, config("t"))
    assert_same(comparable(found), comparable(expected))


def test_tombstone_expires(saver: Any, make_saver: SaverFactory, calls: Calls) -> None:
    chain(calls, saver, "t", 2)
    calls.run(saver, "delete_thread", "t")
    with make_saver.room.client() as client:
        assert all(client.ttl(key) > 0 for key in make_saver.stored())


def test_closed_saver_says_so(make_saver: SaverFactory, calls: Calls) -> None:
    saver = make_saver()
    (put,) = chain(calls, saver, "t", 1)
    if calls.mode == "sync":
        saver.close()
    else:
        calls.run(saver, "close")
    attempts: list[tuple[str, tuple[Any, ...]]] = [
        ("get_tuple", (put,)),
        ("put", (put, checkpoint({}), {}, {})),
        ("put_writes", (put, [("n", 1)], "task")),
        ("delete_thread", ("t",)),
        ("copy_thread", ("t", "u")),
        ("prune", (["t"],)),
        ("delete_for_runs", (["r"],)),
    ]
    for name, args in attempts:
        with pytest.raises(errors.SaverClosedError):
            calls.run(saver, name, *args)
    with pytest.raises(errors.SaverClosedError):
        calls.list(saver, None)
