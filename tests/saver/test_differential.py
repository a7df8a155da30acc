"""Random operations, on our saver and on InMemorySaver: whatever is asked afterwards has the same answer.

Checkpoint ids are made in random order and channel versions are unique numbers, so that the oracle itself is right:
it keeps values by (channel, version), where two branches with the same number would share one value.
"""

from __future__ import annotations

import asyncio
import os
import uuid
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.base import ERROR, INTERRUPT, RESUME, SCHEDULED
from langgraph.types import Interrupt, Send

from langgraph_portable_checkpoint import errors
from tests.saver.calls import AsyncCalls, Calls
from tests.saver.checkpoints import checkpoint, config
from tests.saver.conftest import SaverFactory
from tests.saver.model import ModelSaver, Place, config_of
from tests.saver.same import assert_same, comparable
from tests.saver.zoo import ZOO

either = st.booleans()

THREADS = ("a", "b:*{x}", "ü ?[1]\\")
NAMESPACES = ("", "child", "child:1|grand{}:2", "*")
TASKS = ("t1", "t2", "t:3")
RUNS = ("run-1", "run-2", "run*")
PATHS = ("", "~__pregel_pull, a", "~__pregel_push, 10")
CHANNELS = ("messages", "n", "deep:{chan}nel", "__pregel_tasks")

messages = st.builds(HumanMessage, st.text(max_size=5), id=st.sampled_from("abc")) | st.builds(
    ToolMessage, st.just("r"), tool_call_id=st.sampled_from("xy"), artifact=st.sampled_from([None, 1, True, 1.0])
)
plain = st.sampled_from(
    [None, 0, False, 0.0, "", b"", "x", (1, 2), {"a": {1}}, [], AIMessage("m", id="1"), Send("n", {1: 2})]
)
values = plain | st.sampled_from(sorted(ZOO)).map(lambda name: ZOO[name]()) | st.lists(messages, max_size=3)
batches = st.lists(
    st.tuples(
        st.sampled_from([ERROR, INTERRUPT, RESUME, SCHEDULED, *CHANNELS]), plain | st.just((Interrupt("?", id="i"),))
    ),
    max_size=5,
)
extras = st.fixed_dictionaries(
    {},
    optional={
        "run_id": st.sampled_from(RUNS),
        "user'\"$*": st.sampled_from(["ada", "bob", None]),
        "nested": st.sampled_from([{"a": [1]}, {"a": [2]}, [1], 1.5]),
    },
)
filters = (
    extras | st.just({"missing": 1}) | st.sampled_from([{"source": "loop"}, {"step": 1}, {"source": "loop", "step": 2}])
)


class SaverMachine(RuleBasedStateMachine):
    """Does the same to two savers and compares what they answer."""

    factory: SaverFactory
    runner: asyncio.Runner

    @initialize()
    def begin(self) -> None:
        self.prefix = f"{self.factory.room.prefix}-{uuid.uuid4().hex[:8]}"
        self.ours, self.model = self.factory(prefix=self.prefix), ModelSaver()
        self.versions = self.ids = 0
        self.removed: list[Place] = []
        self.puts: dict[Place, tuple[Any, ...]] = {}
        self.deleted: set[str] = set()

    def calls(self, asynchronous: bool) -> Calls:
        return AsyncCalls(self.runner) if asynchronous else Calls()

    def both(self, asynchronous: bool, name: str, *args: Any, **options: Any) -> None:
        self.calls(asynchronous).run(self.ours, name, *args, **options)
        getattr(self.model, name)(*args, **options)

    def some_place(self, data: Any) -> Place:
        place: Place = data.draw(st.sampled_from(self.model.places()))
        return place

    def fresh_id(self, data: Any) -> str:
        self.ids += 1
        early = data.draw(st.integers(0, 99), label="how late the id sorts")
        return f"{early:02}:{self.ids:06}|{{*}}"

    @rule(
        data=st.data(),
        thread_id=st.sampled_from(THREADS),
        ns=st.sampled_from(NAMESPACES),
        more=extras,
        asynchronous=either,
    )
    def put_first(self, data: Any, thread_id: str, ns: str, more: dict[str, Any], asynchronous: bool) -> None:
        self.put(data, config(thread_id, ns=ns), {}, more, asynchronous)

    @precondition(lambda self: self.model.places())
    @rule(data=st.data(), more=extras, asynchronous=either)
    def put_child(self, data: Any, more: dict[str, Any], asynchronous: bool) -> None:
        parent = config_of(self.some_place(data))
        found = self.model.get_tuple(parent)
        assert found is not None
        self.put(data, parent, found.checkpoint["channel_versions"], more, asynchronous)

    def put(self, data: Any, parent: Any, carried: dict[str, Any], more: dict[str, Any], asynchronous: bool) -> None:
        changed = data.draw(st.sets(st.sampled_from(CHANNELS)), label="changed channels")
        new = {channel: self.versions + number for number, channel in enumerate(sorted(changed), start=1)}
        self.versions += len(new)
        held = {channel: data.draw(values, label=channel) for channel in new}
        kept = {
            channel: value for channel, value in held.items() if data.draw(st.integers(0, 9), label="0 leaves it empty")
        }
        made = checkpoint(kept, {**carried, **new}, checkpoint_id=self.fresh_id(data))
        step = data.draw(st.integers(-1, 3))
        put = parent, made, {"source": "loop", "step": step, "parents": {}, **more}, new
        self.puts[parent["configurable"]["thread_id"], parent["configurable"]["checkpoint_ns"], made["id"]] = put
        self.both(asynchronous, "put", *put)

    @precondition(lambda self: self.model.places())
    @rule(data=st.data(), asynchronous=either)
    def put_again(self, data: Any, asynchronous: bool) -> None:
        """A client that saw no answer sends the same put once more."""
        place = self.some_place(data)
        put = self.puts.get(place)
        if put and (*place[:2], put[0]["configurable"].get("checkpoint_id")) in [
            *self.model.places(),
            (*place[:2], None),
        ]:
            self.both(asynchronous, "put", *put)

    @precondition(lambda self: self.model.places())
    @rule(
        data=st.data(),
        batch=batches,
        task_id=st.sampled_from(TASKS),
        path=st.sampled_from(PATHS),
        asynchronous=either,
        early=either,
    )
    def put_writes(self, data: Any, batch: Any, task_id: str, path: str, asynchronous: bool, early: bool) -> None:
        place = self.some_place(data)
        if not early or place[0] in self.deleted:
            self.both(asynchronous, "put_writes", config_of(place), batch, task_id, path)
            return
        # Writes may reach the server before the checkpoint that they belong to.
        coming = self.fresh_id(data)
        self.both(asynchronous, "put_writes", config_of((*place[:2], coming)), batch, task_id, path)
        made = checkpoint({}, {}, checkpoint_id=coming)
        self.both(not asynchronous, "put", config_of(place), made, {"source": "update"}, {})

    @rule(thread_id=st.sampled_from(THREADS), asynchronous=either)
    def delete_thread(self, thread_id: str, asynchronous: bool) -> None:
        # Late writers are told by the highest id that the thread had at its latest delete.
        gone = [place for place in self.model.places() if place[0] == thread_id]
        highest = max((place[2] for place in gone), default="\U0010ffff")
        self.removed = [each for each in self.removed if each[0] != thread_id or each[2] <= highest] + gone
        self.both(asynchronous, "delete_thread", thread_id)
        self.deleted.add(thread_id)

    @precondition(lambda self: self.removed)
    @rule(data=st.data(), asynchronous=either, writes=either)
    def write_late(self, data: Any, asynchronous: bool, writes: bool) -> None:
        """A run that began before its thread was deleted goes on: nothing of it may come back."""
        place = data.draw(st.sampled_from(self.removed))
        late = (
            ([("n", 1)], "task") if writes else (checkpoint({"n": 1}, checkpoint_id=self.fresh_id(data)), {}, {"n": 1})
        )
        with pytest.raises(errors.ThreadDeletedError):
            self.calls(asynchronous).run(self.ours, "put_writes" if writes else "put", config_of(place), *late)

    @precondition(lambda self: self.model.places())
    @rule(data=st.data(), copy_id=st.sampled_from(["copy 1", "copy:{2}"]), asynchronous=either)
    def copy_thread(self, data: Any, copy_id: str, asynchronous: bool) -> None:
        if not any(place[0] == copy_id for place in self.model.places()) and copy_id not in self.deleted:
            self.both(asynchronous, "copy_thread", self.some_place(data)[0], copy_id)

    @rule(run_ids=st.lists(st.sampled_from([*RUNS, "no such run"]), max_size=2), asynchronous=either)
    def delete_for_runs(self, run_ids: list[str], asynchronous: bool) -> None:
        self.both(asynchronous, "delete_for_runs", run_ids)

    @precondition(lambda self: self.model.places())
    @rule(data=st.data(), asynchronous=either)
    def prune(self, data: Any, asynchronous: bool) -> None:
        """Heads stay as they are; what else stays is up to the saver, but it must not be more than there was."""
        thread_id = self.some_place(data)[0]
        before = {place for place in self.model.places() if place[0] == thread_id}
        heads = {max(place for place in before if place[1] == ns) for ns in {place[1] for place in before}}
        self.calls(asynchronous).run(self.ours, "prune", [thread_id])
        found = self.calls(not asynchronous).list(self.ours, config(thread_id, ns=None))
        left = {_place(each) for each in found}
        assert heads <= left <= before
        for gone in before - left:
            self.model.drop(gone)

    @rule(data=st.data(), asynchronous=either, fresh=either)
    def get(self, data: Any, asynchronous: bool, fresh: bool) -> None:
        places = [*self.model.places(), *self.removed, ("a", "", "unknown"), ("nobody", "", "x"), ("a", "chil", "*")]
        thread_id, ns, checkpoint_id = data.draw(st.sampled_from(places))
        by = data.draw(st.sampled_from([checkpoint_id, None]), label="id, or the head")
        asked = config(thread_id, by, ns=data.draw(st.sampled_from([ns, ns or None])))
        reader = self.factory(prefix=self.prefix) if fresh else self.ours
        assert_same(
            comparable(self.calls(asynchronous).get_tuple(reader, asked)), comparable(self.model.get_tuple(asked))
        )

    @rule(data=st.data(), wanted=st.none() | filters, limit=st.none() | st.integers(0, 4), asynchronous=either)
    def list_checkpoints(self, data: Any, wanted: Any, limit: int | None, asynchronous: bool) -> None:
        ids = [None, "50", *(place[2] for place in self.model.places())]
        threads = st.sampled_from([*THREADS, "copy 1", "nobody"])
        namespaces = st.sampled_from([None, *NAMESPACES])
        asked = data.draw(st.none() | st.builds(config, threads, st.none() | st.sampled_from(ids), ns=namespaces))
        mark = data.draw(st.sampled_from(ids), label="before")
        before = None if mark is None else config("a", mark)
        found = self.calls(asynchronous).list(self.ours, asked, filter=wanted, before=before, limit=limit)
        expected = [*self.model.list(asked, filter=wanted, before=before)]
        assert [each.checkpoint["id"] for each in found] == [each.checkpoint["id"] for each in expected[:limit]]
        by_place = {_place(each): comparable(each) for each in expected}
        assert len({_place(each) for each in found}) == len(found)
        for each in found:
            assert_same(comparable(each), by_place[_place(each)])

    def teardown(self) -> None:
        for place in self.model.places() if hasattr(self, "model") else ():
            asked = config_of(place)
            assert_same(comparable(self.ours.get_tuple(asked)), comparable(self.model.get_tuple(asked)))


def _place(found: Any) -> Place:
    configurable = found.config["configurable"]
    return configurable["thread_id"], configurable["checkpoint_ns"], configurable["checkpoint_id"]


def test_random_operations_have_the_results_of_memory(make_saver: SaverFactory) -> None:
    with asyncio.Runner() as runner:
        machine = type("Machine", (SaverMachine,), {"factory": make_saver, "runner": runner})
        rounds = int(os.environ.get("DIFFERENTIAL_ROUNDS", "40"))
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=rounds,
                stateful_step_count=30,
                deadline=None,
                suppress_health_check=list(HealthCheck),
                report_multiple_bugs=False,
                phases=(Phase.reuse, Phase.generate, Phase.shrink),
            ),
        )
