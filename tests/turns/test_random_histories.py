"""Whatever is done to a conversation, its turns cover it, and the stored log is what would be derived."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

from langgraph_portable_checkpoint import PortableRedisSaver
from langgraph_portable_checkpoint.envelope.facts import fact_of_message
from langgraph_portable_checkpoint.envelope.turns import spans
from tests.saver.checkpoints import checkpoint, config, metadata, new_id
from tests.servers import Server
from tests.turns.shapes import substance

MAKERS = {
    "ask": lambda text, name: HumanMessage(text, id=name),
    "notify": lambda text, name: HumanMessage(text, id=name, additional_kwargs={"lc_source": "notification"}),
    "summary": lambda text, name: HumanMessage(text, id=name, additional_kwargs={"lc_source": "summarization"}),
    "answer": lambda text, name: AIMessage(text, id=name, usage_metadata=_usage(len(text))),
    "call": lambda text, name: AIMessage(
        text, id=name, tool_calls=[{"name": "t", "args": {"a": 1}, "id": text or "c"}]
    ),
    "result": lambda text, name: ToolMessage(text, id=name, tool_call_id=text or "c"),
    "system": lambda text, name: SystemMessage(text, id=name),
}
NAMES = st.one_of(st.none(), st.sampled_from(["a", "b"]), st.uuids().map(str))
MESSAGES = st.builds(
    lambda kind, text, name: MAKERS[kind](text, name),
    st.sampled_from(sorted(MAKERS)),
    st.sampled_from(["", "x", "y"]),
    NAMES,
)
POSITIONS = st.integers(0, 30)
STEPS = st.one_of(
    st.tuples(st.just("append"), st.lists(MESSAGES, min_size=1, max_size=4)),
    st.tuples(st.just("nothing"), st.none()),
    st.tuples(st.just("remove"), POSITIONS),
    st.tuples(st.just("replace"), st.tuples(POSITIONS, MESSAGES)),
    st.tuples(st.just("trim"), POSITIONS),
    st.tuples(st.just("keep"), POSITIONS),
    st.tuples(st.just("go back"), POSITIONS),
    st.tuples(st.just("restart"), st.none()),
    st.tuples(st.just("fail"), st.none()),
)


def _usage(tokens: int) -> Any:
    return {"input_tokens": tokens, "output_tokens": 1, "total_tokens": tokens + 1}


@pytest.fixture(scope="module")
def running_server() -> Iterator[Server]:
    with Server.start(tcp=True) as server:
        yield server


class History:
    """A thread, and the states that it went through."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.thread_id = uuid.uuid4().hex
        self.saver = self.new_saver()
        self.states: list[tuple[Any, int, list[AnyMessage]]] = []
        self.place: Any = config(self.thread_id)
        self.version = 0
        self.messages: list[AnyMessage] = []

    def new_saver(self) -> PortableRedisSaver:
        return PortableRedisSaver.from_url(self.server.url)

    def step(self, name: str, value: Any) -> None:
        """Do one thing to the thread."""
        if name == "restart":
            self.saver.close()
            self.saver = self.new_saver()
            self.saver.get_tuple(config(self.thread_id))
        elif name == "fail":
            if self.states:
                self.saver.put_writes(self.place, [("__error__", "ValueError('boom')")], uuid.uuid4().hex)
        elif name == "go back":
            if self.states:
                self.place, self.version, self.messages = self.states[value % len(self.states)]
                self.put(self.messages)
        else:
            self.put(self.changed(name, value))

    def changed(self, name: str, value: Any) -> list[AnyMessage]:
        messages = list(self.messages)
        if name == "append":
            return [*messages, *value]
        if name == "trim":
            return messages[value:]
        if name == "keep":
            return messages[:value]
        if name == "remove" and messages:
            del messages[value % len(messages)]
        if name == "replace" and messages:
            messages[value[0] % len(messages)] = value[1]
        return messages

    def put(self, messages: list[AnyMessage]) -> None:
        new = {}
        if messages != self.messages or not self.version:
            self.version += 1
            new = {"messages": self.version}
        made = checkpoint({"messages": messages}, {"messages": self.version}, checkpoint_id=new_id())
        self.place = self.saver.put(self.place, made, metadata(len(self.states)), new)
        self.messages = messages
        self.states.append((self.place, self.version, messages))


@given(steps=st.lists(STEPS, min_size=1, max_size=12))
@settings(max_examples=60)
def test_turns_cover_every_message_once_in_order_and_are_what_would_be_derived(
    running_server: Server, steps: list[tuple[str, Any]]
) -> None:
    history = History(running_server)
    for name, value in steps:
        history.step(name, value)
    stored = list(history.saver.turns(history.thread_id))
    assert [message["id"] for turn in stored for message in turn.messages] == [m.id for m in history.messages]
    cut = spans([fact_of_message(message) for message in history.messages])
    assert [turn.record["count"] for turn in stored] == [span.stop - span.start for span in cut]
    assert [turn.record["phase"] for turn in stored] == [span.phase for span in cut]
    if history.states:
        other = history.new_saver()
        head = other.get_tuple(config(history.thread_id))
        assert head is not None
        derived = list(other.turns(history.thread_id, checkpoint_id=head.checkpoint["id"]))
        assert [substance(turn) for turn in derived] == [substance(turn) for turn in stored]
        other.close()
    history.saver.close()


@given(steps=st.lists(STEPS, min_size=1, max_size=10), at=POSITIONS)
@settings(max_examples=25)
def test_every_checkpoint_has_the_turns_of_its_own_messages(
    running_server: Server, steps: list[tuple[str, Any]], at: int
) -> None:
    history = History(running_server)
    for name, value in steps:
        history.step(name, value)
    if history.states:
        place, _, messages = history.states[at % len(history.states)]
        checkpoint_id = place["configurable"]["checkpoint_id"]
        turns = list(history.saver.turns(history.thread_id, checkpoint_id=checkpoint_id))
        assert [message["id"] for turn in turns for message in turn.messages] == [m.id for m in messages]
    history.saver.close()
