"""The first row of reading gives what the general way gives, down to the order of keys."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from langgraph_portable_checkpoint.envelope import read
from langgraph_portable_checkpoint.envelope.entries import prove
from langgraph_portable_checkpoint.envelope.everyday import read_said
from langgraph_portable_checkpoint.envelope.natives import KINDS, kinds_of, order_code, reordered
from langgraph_portable_checkpoint.envelope.natives.kind import Kind
from langgraph_portable_checkpoint.envelope.plain import plain_dump
from tests.corpus_messages import corpus_histories
from tests.envelope.zoo import hard_messages, plain_messages, spoken_messages

TEXTS = st.text(max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**65), 2**65) | st.floats() | TEXTS | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
MAPS = st.dictionaries(TEXTS, JSON, max_size=2)
METADATA = MAPS | st.fixed_dictionaries(
    {},
    optional={
        "model_provider": st.sampled_from(["openai", "anthropic", "mistralai", "bedrock_converse", "own"]) | JSON,
        "model_name": TEXTS | JSON,
        "id": st.sampled_from(["resp_1", "msg_1"]) | JSON,
        "finish_reason": TEXTS,
        "stop_reason": TEXTS | st.none(),
        "object": st.just("response"),
    },
)
CALLS = st.lists(
    st.fixed_dictionaries({"name": TEXTS, "args": MAPS, "id": st.sampled_from(["a", "b", None])}), max_size=3
)
USAGE = st.none() | st.just({"input_tokens": 1, "output_tokens": 2, "total_tokens": 3, "input_token_details": {"x": 1}})
CONTENT = TEXTS | st.lists(
    TEXTS
    | st.fixed_dictionaries({"type": st.just("text"), "text": TEXTS})
    | st.fixed_dictionaries({"type": st.just("thinking"), "thinking": TEXTS, "signature": TEXTS})
    | st.fixed_dictionaries({"type": st.just("tool_use"), "id": st.just("a"), "name": TEXTS, "input": MAPS})
    | MAPS,
    max_size=3,
)
COMMON: Any = {
    "content": CONTENT,
    "additional_kwargs": st.just({}) | MAPS,
    "response_metadata": METADATA,
    "name": st.none() | TEXTS,
    "id": st.none() | TEXTS,
}
MESSAGES = (
    st.builds(HumanMessage, **COMMON)
    | st.builds(SystemMessage, **COMMON)
    | st.builds(AIMessage, **COMMON, tool_calls=CALLS, usage_metadata=USAGE)
    | st.builds(ToolMessage, **COMMON, tool_call_id=TEXTS, artifact=JSON, status=st.sampled_from(["success", "error"]))
)


def generally(message: BaseMessage) -> Any:
    """Read a message without the first row."""
    return read._read_any_view(plain_dump(message.model_dump()).view)


def holds_for(message: BaseMessage) -> bool:
    """Check one message; tell whether the first row knew it."""
    found = read.read_plain(message)
    assert found is None or repr(found) == repr(generally(message))
    return found is not None


@given(MESSAGES)
def test_the_first_row_reads_what_the_general_way_reads(message: BaseMessage) -> None:
    holds_for(message)


def test_hard_messages_are_read_alike() -> None:
    messages = {**plain_messages(), **hard_messages(), **spoken_messages()}
    assert {holds_for(message) for message in messages.values()} == {True, False}


def test_nearly_all_recorded_messages_are_everyday_and_read_alike() -> None:
    known = [holds_for(message) for messages in corpus_histories().values() for message in messages]
    assert sum(known) > 0.98 * len(known)


ODD = [None, "", "ü", "\ud800", "x", "error", {}, {"a": 1}, [], [1], [{"name": "f"}], (), 0, 1, {1, 2}, "gone"]


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@pytest.mark.parametrize("field", [*AIMessage.model_fields, "tool_call_id", "artifact", "status"])
@pytest.mark.parametrize("odd", ODD)
def test_messages_that_were_changed_since_they_were_made_are_read_alike(field: str, odd: Any) -> None:
    call = {"name": "f", "args": {"x": [1, {"y": None}]}, "id": "c"}
    for message in (HumanMessage("a", id="m"), AIMessage("a", tool_calls=[call]), ToolMessage("a", tool_call_id="c")):
        if field in message.__dict__:
            message.__dict__.pop(field)
            if odd != "gone":
                message.__dict__[field] = odd
            found = read_said(message)
            assert found is None or repr(found) == repr(generally(message))


def test_a_text_message_is_read_from_its_fields_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    call = {"name": "f", "args": {"x": [1, {"y": None}]}, "id": "c", "type": "tool_call"}
    message = AIMessage("hi", tool_calls=[call], id="m", response_metadata={"model_provider": "openai"})
    expected = generally(message)
    monkeypatch.setattr(read, "read_fields", None)
    monkeypatch.setattr(read, "plain_dump", None)
    assert read.read_message(message) == expected


def test_what_is_read_shares_nothing_with_the_message() -> None:
    message = AIMessage("hi", tool_calls=[{"name": "f", "args": {"x": [1]}, "id": "c"}])
    read.read_message(message)["content"][1]["args"]["x"].append(2)
    assert message.tool_calls[0]["args"] == {"x": [1]}


@pytest.mark.parametrize(
    "message",
    [
        HumanMessage("\ud800"),
        HumanMessage("a", name="\ud800"),
        AIMessage("", tool_calls=[{"name": "f", "args": {"\ud800": 1}, "id": "c"}]),
        HumanMessage("a", own=1),
        ToolMessage("a", tool_call_id="c", artifact={1: 2}),
        ToolMessage("a", tool_call_id="c", artifact=HumanMessage("x")),
    ],
)
def test_what_is_not_plain_is_left_to_the_general_way(message: BaseMessage) -> None:
    assert read.read_plain(message) is None


FLAT = [kind for kind in KINDS.values() if kind.flat]


def proof(kind: Kind, native: Any) -> str | None:
    """Prove a block by writing it, as is done for kinds that are not flat."""
    block = kind.read(native)
    if block is None:
        return None
    written = kind.write(block)
    code = order_code(written, native, kind.tree)
    assert code is None or repr(reordered(written, code, kind.tree)) == repr(native)
    return code


@given(st.sampled_from(FLAT), st.data())
def test_the_keys_of_a_flat_block_prove_what_writing_it_proves(kind: Kind, data: st.DataObject) -> None:
    shape = kind.write({"type": "?"})
    keys = data.draw(st.permutations([*kind.flat, "rest"]))
    native = {key: shape[key] if key in shape else data.draw(JSON) for key in keys}
    native.pop(data.draw(st.sampled_from(keys)))
    block = kind.read(native)
    if block is not None and "rest" not in native:
        assert prove(kind, block, native) == f"{kind.name}{proof(kind, native)}"
        assert kind.code_of(native) == proof(kind, native)
    if "rest" in native:
        assert kind.code_of(native) is None


def test_exact_kinds_write_back_what_they_read() -> None:
    natives = [
        native
        for messages in corpus_histories().values()
        for message in messages
        if isinstance(message.content, list)
        for native in message.content
    ]
    known = [(kind, native) for native in natives for kind in kinds_of(native) if kind.exact]
    blocks = [(kind, native, kind.read(native)) for kind, native in known]
    written = [(kind.write(block), native) for kind, native, block in blocks if block is not None]
    assert written
    assert all(repr(ours) == repr(native) for ours, native in written)
