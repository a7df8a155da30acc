"""What is read in the place of a medium goes on standing for it, whatever a graph does with it; typed texts are texts."""

from __future__ import annotations

import asyncio
import base64
import copy
import hashlib
import json
import operator
import pickle
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.graph import START, StateGraph, add_messages
from langgraph.types import Send
from pydantic import BaseModel

from langgraph_portable_checkpoint import MediaPolicy, PortableRedisSaver
from langgraph_portable_checkpoint.media import stand_ins
from langgraph_portable_checkpoint.media.stand_ins import Standing, standing_bytes, stands_for
from tests.servers import Room

CONFIG: Any = {"configurable": {"thread_id": "t"}}
NOISE = b"".join(hashlib.sha256(b"%d" % i).digest() for i in range(160))
BASE64 = base64.b64encode(b"\x89PNG\r\n\x1a\n" + NOISE).decode()
PART = {"type": "image", "base64": BASE64, "mime_type": "image/png", "extras": {"own": 1}}
SOURCE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": BASE64}}
URL = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{BASE64}", "detail": "low"}}
SCREEN = {"type": "input_image", "image_url": f"data:image/png;base64,{BASE64}"}
RAN = {"type": "code_interpreter_call", "outputs": [{"type": "image", "url": SCREEN["image_url"]}]}
FETCHED = {
    "type": "web_fetch_tool_result",
    "content": {
        "type": "web_fetch_result",
        "content": {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": BASE64},
            "title": "T",
        },
    },
}


class State(TypedDict):
    """Media wherever a state may have them."""

    messages: Annotated[list[AnyMessage], add_messages]
    parts: Annotated[list[Any], operator.add]
    said: Annotated[list[Any], operator.add]
    raw: Any
    map: Any
    count: int


GIVEN: dict[str, Any] = {
    "messages": [
        HumanMessage([{"type": "text", "text": "see"}, PART, URL], id="h"),
        ToolMessage("done", tool_call_id="c", artifact={"shots": [SOURCE, {"png": NOISE}]}, id="t"),
        ToolMessage([URL], tool_call_id="d", artifact=NOISE, id="u"),
        AIMessage([FETCHED, RAN], additional_kwargs={"audio": b"RIFF" + NOISE}, id="v"),
        ToolMessage([SCREEN], tool_call_id="e", additional_kwargs={"type": "computer_call_output"}, id="w"),
    ],
    "parts": [PART, URL, "a", ["b", SOURCE]],
    "said": [{"role": "user", "content": [PART]}],
    "raw": NOISE,
    "map": {"pic": PART, "deep": {"list": [URL, NOISE]}, "url": URL["image_url"]},
    "count": 0,
}
"""Media of some bytes each, one of them the same everywhere."""


def passes_on(state: Any) -> Any:
    """Write every channel again, with what was read and something new."""
    return {
        "messages": [AIMessage("ok", id=f"a{state['count']}")],
        "parts": ["note", state["map"]["pic"]],
        "said": [{"role": "assistant", "content": "ok"}],
        "raw": state["raw"],
        "map": {**state["map"], "count": state["count"]},
        "count": state["count"] + 1,
    }


def edits(state: Any) -> Any:
    """Change messages that hold media, leaving the media."""
    human, tool = state["messages"][0], state["messages"][1]
    said = human.model_copy(update={"content": [{"type": "text", "text": "look"}, *human.content[1:]]})
    return {**passes_on(state), "messages": [said, tool.model_copy(update={"name": "camera"})]}


def copies(state: Any) -> Any:
    """Write deep copies of it all."""
    return {**passes_on(state), "map": copy.deepcopy(state["map"]), "messages": copy.deepcopy(state["messages"])}


def graph(saver: Any, node: Callable[[Any], Any]) -> Any:
    builder = StateGraph(State)
    builder.add_node("node", node)
    return builder.add_edge(START, "node").compile(checkpointer=saver)


class Away:
    """A media store that may be away, and the saver in front of it."""

    def __init__(self, server: Room, folder: Path) -> None:
        self.server, self.folder, self.aside = server, folder, folder.with_name("aside")

    def saver(self, serde: Any = None) -> PortableRedisSaver:
        """Open a saver that knows nothing yet."""
        options: dict[str, Any] = {"prefix": self.server.prefix, "media_store": self.folder, "serde": serde}
        return PortableRedisSaver.from_url(self.server.url, **options)

    def go(self) -> None:
        shutil.move(self.folder, self.aside)

    def come_back(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.move(self.aside, self.folder)


@pytest.fixture
def away(server: Room, tmp_path: Path) -> Iterator[Away]:
    return Away(server, tmp_path / "media")


@pytest.mark.parametrize("node", [passes_on, edits, copies])
def test_media_that_could_not_be_read_for_some_turns_are_there_again(away: Away, node: Callable[[Any], Any]) -> None:
    memory = InMemorySaver()
    with away.saver() as saver:
        for each in (saver, memory):
            graph(each, lambda _state: {}).invoke(GIVEN, CONFIG)
    away.go()
    with away.saver() as saver:
        for _ in range(2):
            for each in (saver, memory):
                graph(each, node).invoke({"count": 5}, CONFIG)
        seen = graph(saver, node).get_state(CONFIG).values
        assert "not available" in str(seen["messages"])
        assert BASE64 not in str(seen)
    away.come_back()
    with away.saver() as saver:
        values = graph(memory, node).get_state(CONFIG).values
        assert graph(saver, node).get_state(CONFIG).values == values
        graph(saver, lambda _state: {}).invoke(values, {"configurable": {"thread_id": "u"}})
        bare, anew = ({"configurable": {"thread_id": name, "media": "none"}} for name in "tu")
        assert graph(saver, node).get_state(bare).values == graph(saver, node).get_state(anew).values


def test_media_that_read_alike_while_they_are_away_are_not_taken_for_each_other(away: Away) -> None:
    pictures = [base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes([n]) * 5000).decode() for n in range(3)]
    said = [HumanMessage([{**PART, "base64": text}], id=str(n)) for n, text in enumerate(pictures)]
    with away.saver() as saver:
        graph(saver, lambda _state: {}).invoke({"messages": said}, CONFIG)
    away.go()
    with away.saver() as saver:
        app = graph(saver, lambda state: {"messages": [m.model_copy() for m in reversed(state["messages"])]})
        app.invoke({"messages": AIMessage("ok", id="a")}, CONFIG)
        app.invoke({"messages": AIMessage("ok", id="b")}, CONFIG)
    away.come_back()
    with away.saver() as saver:
        assert graph(saver, lambda _state: {}).get_state(CONFIG).values["messages"][:3] == said


@pytest.mark.parametrize("media", ["none", 0, 1])
@pytest.mark.parametrize("node", [passes_on, edits, copies])
def test_media_that_were_not_asked_for_are_kept(server: Room, node: Callable[[Any], Any], media: Any) -> None:
    memory = InMemorySaver()
    asked = {"configurable": {"thread_id": "t", "media": media}}
    for each in (PortableRedisSaver.from_url(server.url, prefix=server.prefix), memory):
        graph(each, lambda _state: {}).invoke(GIVEN, CONFIG)
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as saver:
        for _ in range(2):
            graph(saver, node).invoke({"count": 5}, asked)
            graph(memory, node).invoke({"count": 5}, CONFIG)
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as saver:
        assert graph(saver, node).get_state(CONFIG).values == graph(memory, node).get_state(CONFIG).values


def test_bytes_that_are_in_use_stand_for_their_media_however_many_are_read(server: Room) -> None:
    frames: list[Any] = [hashlib.sha256(b"%d" % number).digest() * 4 for number in range(6_000)]
    options: dict[str, Any] = {"prefix": server.prefix, "media_policy": MediaPolicy(min_bytes=100)}
    with PortableRedisSaver.from_url(server.url, **options) as saver:
        graph(saver, lambda _state: {}).invoke({"parts": frames}, CONFIG)
        asked = {"configurable": {"thread_id": "t", "media": "none"}}
        read = graph(saver, lambda _state: {}).get_state(asked).values["parts"]
        for _ in range(2):
            graph(saver, lambda _state: {}).get_state(asked)
        assert all(stands_for(leaf) for leaf in read)
        graph(saver, lambda _state: {"parts": [b"more"]}).invoke({"count": 1}, asked)
        assert graph(saver, lambda _state: {}).get_state(CONFIG).values["parts"] == [*frames, b"more"]


def test_bytes_that_nobody_holds_any_longer_are_forgotten() -> None:
    standing = Standing(b"home", None, ())
    held = [standing_bytes(f"held {number}", standing) for number in range(5_000)]
    for number in range(50_000):
        standing_bytes(f"gone {number}", standing)
    assert all(stands_for(leaf) is standing for leaf in held)
    assert len(stand_ins._in_use) < 4 * len(held)


def test_media_of_a_send_are_kept_when_the_node_writes_them(away: Away) -> None:
    def built(saver: Any, *, fails: bool) -> Any:
        def work(state: Any) -> Any:
            if fails:
                raise ConnectionError("not yet")
            return {"parts": [state["part"]]}

        builder = StateGraph(State)
        builder.add_node("work", work)
        builder.add_conditional_edges(START, lambda _state: [Send("work", {"part": PART})], ["work"])
        return builder.compile(checkpointer=saver)

    with away.saver() as saver, pytest.raises(ConnectionError):
        built(saver, fails=True).invoke({"count": 0}, CONFIG)
    away.go()
    with away.saver() as saver:
        built(saver, fails=False).invoke(None, CONFIG)
    away.come_back()
    with away.saver() as saver:
        assert built(saver, fails=False).get_state(CONFIG).values["parts"] == [PART]


def test_media_that_are_gone_for_good_do_not_keep_a_graph_from_going_on(server: Room) -> None:
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as saver:
        graph(saver, passes_on).invoke(GIVEN, CONFIG)
    with server.client() as client:
        client.delete(*[key for key in _keys(server) if key.endswith((b":blobs", b":media"))])
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as saver:
        graph(saver, edits).invoke({"count": 5}, CONFIG)
        assert "not available" in str(graph(saver, edits).get_state(CONFIG).values["map"])
        assert {entry.reason for entry in saver.media_report("t", check=False)} == {"missing_blob"}


UNREAD: Any = {"configurable": {"thread_id": "t", "media": "none"}}
KEPT: dict[str, Any] = {"map": GIVEN["map"], "raw": NOISE}


def opened(server: Room) -> PortableRedisSaver:
    """Open a saver that knows nothing yet."""
    return PortableRedisSaver.from_url(server.url, prefix=server.prefix)


def idle(saver: Any) -> Any:
    return graph(saver, lambda _state: {})


def read_before_a_prune(server: Room, saver: PortableRedisSaver, *, left: dict[str, Any]) -> dict[str, Any]:
    """Give what a run has read without media, before another one left only this in the thread and pruned it."""
    with opened(server) as writer:
        idle(writer).invoke({**KEPT, "count": 0}, CONFIG)
    read = idle(saver).get_state(UNREAD).values
    with opened(server) as other:
        idle(other).update_state(CONFIG, left)
        other.prune(["t"])
    return {name: read[name] for name in KEPT}


def write_again(saver: PortableRedisSaver, read: dict[str, Any], by: str) -> Any:
    """Return the config of the checkpoint that has it."""
    if by == "put":
        return idle(saver).update_state(UNREAD, read)
    at = saver.get_tuple(UNREAD).config
    saver.put_writes(at, list(read.items()), "task")
    return at


def written_again(saver: PortableRedisSaver, at: Any, by: str) -> dict[str, Any]:
    place = {name: at["configurable"][name] for name in ("thread_id", "checkpoint_ns", "checkpoint_id")}
    found = saver.get_tuple({"configurable": place})
    if by == "put":
        return {name: found.checkpoint["channel_values"][name] for name in KEPT}
    return {name: value for task, name, value in found.pending_writes if task == "task"}


@pytest.mark.parametrize("by", ["put", "put_writes"])
def test_media_that_a_prune_left_in_the_thread_are_kept(server: Room, by: str) -> None:
    with opened(server) as saver:
        at = write_again(saver, read_before_a_prune(server, saver, left={"count": 1}), by)
    with opened(server) as saver:
        assert written_again(saver, at, by) == KEPT
        assert saver.media_report("t") == []


@pytest.mark.parametrize("by", ["put", "put_writes"])
def test_media_that_left_the_thread_meanwhile_are_reported_and_come_back_with_their_bytes(
    server: Room, by: str
) -> None:
    with opened(server) as saver:
        at = write_again(saver, read_before_a_prune(server, saver, left=dict.fromkeys(KEPT)), by)
    with opened(server) as saver:
        assert str(written_again(saver, at, by)).count("not available") == 5
        sizes = {entry.size_bytes for entry in saver.media_report("t") if entry.reason == "missing_blob"}
        assert sizes == {len(NOISE), len(base64.b64decode(BASE64))}
        idle(saver).update_state(CONFIG, KEPT)
    with opened(server) as saver:
        assert saver.media_report("t") == []
        assert written_again(saver, at, by) == KEPT


def test_media_that_left_the_thread_meanwhile_are_stored_again_from_memory(server: Room) -> None:
    with opened(server) as saver:
        read = read_before_a_prune(server, saver, left={"count": 1})
        assert idle(saver).get_state(CONFIG).values["raw"] == NOISE, "the bytes are in the cache now"
        with opened(server) as other:
            idle(other).update_state(CONFIG, dict.fromkeys(KEPT))
            other.prune(["t"])
        at = write_again(saver, read, "put")
    with opened(server) as saver:
        assert written_again(saver, at, "put") == KEPT
        assert saver.media_report("t") == []


class Checked(BaseModel):
    """A state of which pydantic makes new texts at every node."""

    pages: list[str] = []
    cover: str = ""
    index: dict[str, str] = {}
    raw: list[bytes] = []
    count: int = 0


PAGES: dict[str, Any] = {
    "pages": [BASE64, "a text", URL["image_url"]["url"]],
    "cover": BASE64,
    "index": {"first": BASE64, "second": "none"},
    "raw": [NOISE],
}


def appends(state: Checked) -> dict[str, Any]:
    """Write every channel again, as checked, and something new."""
    again = {name: getattr(state, name) for name in PAGES}
    return {**again, "pages": [*state.pages, f"note {state.count}"], "count": state.count + 1}


def checked(saver: Any) -> Any:
    return StateGraph(Checked).add_node("node", appends).add_edge(START, "node").compile(checkpointer=saver)


def run(graph: Any, given: Any, config: Any, how: str) -> None:
    if how == "awaited":
        asyncio.run(graph.ainvoke(given, config))
    else:
        graph.invoke(given, config, durability=how)


@pytest.mark.parametrize("how", ["sync", "async", "exit", "awaited"])
@pytest.mark.parametrize("media", ["all", "none"])
def test_a_state_that_checks_its_texts_keeps_media_where_they_were(away: Away, media: str, how: str) -> None:
    with away.saver() as saver:
        run(checked(saver), PAGES, CONFIG, how)
    if media == "all":
        away.go()
    with away.saver() as saver:
        for _ in range(2):
            run(checked(saver), {"count": 5}, {"configurable": {"thread_id": "t", "media": media}}, how)
    with away.saver() as saver:
        run(checked(saver), {"count": 9}, {"configurable": {"thread_id": "t", "media": media}}, how)
    if media == "all":
        away.come_back()
    with away.saver() as saver:
        found = checked(saver).get_state(CONFIG).values
        assert saver.media_report("t") == []
    notes = ["note 0", "note 5", "note 5", "note 9"]
    assert {name: found[name] for name in PAGES} == {**PAGES, "pages": [*PAGES["pages"], *notes]}


def test_a_checked_text_keeps_its_medium_when_the_thread_is_pruned_meanwhile(server: Room) -> None:
    with opened(server) as saver:
        checked(saver).invoke(PAGES, CONFIG)
        head = saver.get_tuple(UNREAD)
        with opened(server) as other:
            other.prune(["t"])
        cover = json.loads(json.dumps(head.checkpoint["channel_values"]["cover"]))
        saver.put_writes(head.config, [("cover", cover)], "late")
    with opened(server) as saver:
        assert ("late", "cover", BASE64) in saver.get_tuple(CONFIG).pending_writes


def test_a_checked_text_that_was_moved_is_a_text(server: Room) -> None:
    with opened(server) as saver:
        checked(saver).invoke(PAGES, CONFIG)
        read = json.loads(json.dumps(checked(saver).get_state(UNREAD).values["pages"]))
        checked(saver).update_state(UNREAD, {"pages": read[::-1]})
        assert checked(saver).get_state(CONFIG).values["pages"] == read[::-1]


def test_a_checked_text_that_is_moved_brings_its_medium_along(server: Room) -> None:
    def reverses(state: Checked) -> dict[str, Any]:
        return {"pages": state.pages[::-1], "cover": state.index["first"]}

    with opened(server) as saver:
        checked(saver).invoke(PAGES, CONFIG)
        app = StateGraph(Checked).add_node("node", reverses).add_edge(START, "node").compile(checkpointer=saver)
        app.invoke({"count": 1}, UNREAD)
    with opened(server) as saver:
        found = checked(saver).get_state(CONFIG).values
    assert (found["pages"], found["cover"]) == (["note 0", *PAGES["pages"][::-1]], BASE64)


TEXTS: list[Any] = [
    URL["image_url"]["url"],
    [URL["image_url"]["url"], "and a text"],
    [{"type": "text", "text": "a"}, BASE64],
]


def quotes(state: Any) -> Any:
    """Say what a message says once more, in messages of other kinds."""
    content = state["messages"][0].content
    said = [AIMessage(content, id="ai"), ToolMessage(content, tool_call_id="c", artifact=[content], id="tool")]
    return {"messages": said, "raw": content} if len(state["messages"]) > 1 else {}


@pytest.mark.parametrize("how", ["sync", "awaited"])
@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize("media", ["all", "none"])
@pytest.mark.parametrize("content", TEXTS)
def test_a_text_of_a_message_that_another_one_says_again_brings_its_medium_along(
    away: Away, content: Any, media: str, *, sealed: bool, how: str
) -> None:
    serde = EncryptedSerializer.from_pycryptodome_aes(key=b"1" * 16) if sealed else None
    asked = {"configurable": {"thread_id": "t", "media": media}}
    with away.saver(serde) as saver:
        run(graph(saver, quotes), {"messages": [HumanMessage(content, id="h")]}, CONFIG, how)
    if media == "all":
        away.go()
    with away.saver(serde) as saver:
        run(graph(saver, quotes), {"messages": [HumanMessage("again", id="h2")]}, asked, how)
    with away.saver(serde) as saver:
        run(graph(saver, lambda _state: {}), {"count": 1}, asked, how)
    if media == "all":
        away.come_back()
    with away.saver(serde) as saver:
        found = graph(saver, quotes).get_state(CONFIG).values
        assert saver.media_report("t") == []
    assert [each.content for each in found["messages"]] == [content, "again", content, content]
    assert found["messages"][3].artifact == [content]
    assert found["raw"] == content


@pytest.mark.parametrize(
    "message",
    [HumanMessage(BASE64, id="h"), HumanMessage([BASE64], id="h"),
     ToolMessage("done", tool_call_id="c", artifact={"shots": [SOURCE, NOISE]}, id="h")],
)  # fmt: skip
def test_a_typed_message_like_one_read_without_media_does_not_take_its_place(server: Room, message: Any) -> None:
    with opened(server) as saver:
        app = idle(saver)
        app.invoke({"messages": [message]}, CONFIG)
        read = app.get_state(UNREAD).values["messages"][0]
        fields = pickle.loads(pickle.dumps(read.model_dump()))
        typed = type(read)(**{**fields, "id": "typed"})
        app.invoke({"messages": [typed]}, UNREAD)
        for count in range(2):
            app.invoke({"messages": [read.model_copy(update={"id": f"r{count}"})], "count": count}, UNREAD)
        found = {each.id: each for each in app.get_state(CONFIG).values["messages"]}
    whole = {name: message.model_copy(update={"id": name}) for name in ("h", "r0", "r1")}
    assert found == {**whole, "typed": typed}


def _keys(server: Room) -> list[bytes]:
    return server.keys()


def _typed(value: Any) -> Any:
    """Give the same value with texts that somebody typed."""
    return json.loads(json.dumps(value))


def test_a_typed_text_that_looks_like_one_of_a_medium_is_a_text(server: Room) -> None:
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as saver:
        app = graph(saver, lambda _state: {})
        app.invoke(GIVEN, CONFIG)
        read = app.get_state({"configurable": {"thread_id": "t", "media": "none"}}).values
        content, artifact = _typed(read["messages"][0].content), read["messages"][1].artifact
        forged = [HumanMessage(content, id=name) for name in ("h", "forged", "again")]
        artifact = {"shots": [{**artifact["shots"][0], "text": _typed(artifact["shots"][0]["text"])}, {"png": b"x"}]}
        forged_tool = ToolMessage("done", tool_call_id="c", artifact=artifact, id="t")
        app.invoke({"messages": [*forged, forged_tool], "parts": _typed(read["parts"])}, CONFIG)
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as saver:
        values = graph(saver, lambda _state: {}).get_state(CONFIG).values
    said = {message.id: message for message in values["messages"]}
    assert [said[name].content for name in ("h", "forged", "again")] == [content] * 3
    assert said["t"].artifact == artifact
    assert values["parts"] == [*GIVEN["parts"], *_typed(read["parts"])]


def test_a_tool_message_typed_like_one_read_without_media_is_what_was_typed(server: Room) -> None:
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as saver:
        app = graph(saver, lambda _state: {})
        app.invoke({"messages": [ToolMessage("done", tool_call_id="c", artifact={"shots": [SOURCE]}, id="t")]}, CONFIG)
        asked = {"configurable": {"thread_id": "t", "media": "none"}}
        for number in range(3):
            app.invoke({"messages": [HumanMessage("more", id=f"m{number}")]}, asked)
        artifact = _typed(app.get_state(asked).values["messages"][0].artifact)
        app.invoke({"messages": [ToolMessage("done", tool_call_id="c", artifact=artifact, id="typed")]}, asked)
        app.invoke({"messages": [ToolMessage("done", tool_call_id="c", artifact=artifact, id="t")]}, asked)
        found = {message.id: message for message in app.get_state(CONFIG).values["messages"]}
    assert found["typed"].artifact == found["t"].artifact == artifact


def test_in_another_thread_it_is_a_text(server: Room) -> None:
    other = {"configurable": {"thread_id": "other"}}
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as saver:
        app = graph(saver, lambda _state: {})
        app.invoke(GIVEN, CONFIG)
        read = app.get_state({"configurable": {"thread_id": "t", "media": "none"}}).values
        app.invoke(read, other)
        assert app.get_state(other).values == read


def test_messages_written_again_without_their_media_store_nothing_anew(server: Room) -> None:
    asked = {"configurable": {"thread_id": "t", "media": "none"}}
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as saver:
        graph(saver, lambda _state: {}).invoke({"messages": GIVEN["messages"]}, CONFIG)
    with server.client() as client, PortableRedisSaver.from_url(server.url, prefix=server.prefix) as saver:
        (items,) = [key for key in _keys(server) if key.endswith(b":items")]
        before = set(client.hkeys(items))
        graph(saver, lambda _state: {}).invoke({"count": 1}, asked)
        app = graph(saver, lambda _state: {"messages": [AIMessage("ok", id="a")]})
        app.invoke({"count": 2}, asked)
        kinds = [client.hget(items, digest)[1] for digest in set(client.hkeys(items)) - before]
    assert kinds.count(1) == 1, "only the new answer is a new message"


def test_what_was_not_read_can_be_stripped(server: Room) -> None:
    asked = {"configurable": {"thread_id": "t", "media": "none", "media_policy": "strip"}}
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as saver:
        graph(saver, lambda _state: {}).invoke(GIVEN, CONFIG)
        graph(saver, passes_on).invoke({"count": 5}, asked)
        values = graph(saver, passes_on).get_state(CONFIG).values
        assert "removed on save" in str(values["map"])
        assert "kept as" not in str(values)
        assert "stripped" in {entry.reason for entry in saver.media_report("t")}


def test_copies_in_memory_keep_what_a_text_stands_for_and_other_forms_are_texts(server: Room) -> None:
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as saver:
        app = graph(saver, lambda _state: {})
        app.invoke(GIVEN, CONFIG)
        text = app.get_state({"configurable": {"thread_id": "t", "media": "none"}}).values["parts"][0]["text"]
    assert stands_for(text) is stands_for(copy.copy(text)) is stands_for(copy.deepcopy([text])[0]) is not None
    for made in (pickle.loads(pickle.dumps([text]))[0], json.loads(json.dumps(text)), f" {text} "[1:-1]):
        assert made == text
        assert stands_for(made) is None


def test_media_that_read_alike_and_change_places_are_not_taken_for_each_other(away: Away) -> None:
    others = [base64.b64encode(b"\xff\xd8\xff\xe0" + hashlib.sha256(b"%d" % n).digest() * 70).decode() for n in (1, 2)]
    with away.saver() as saver:
        graph(saver, lambda _state: {}).invoke({"any": None, "map": others}, CONFIG)
    away.go()
    with away.saver() as saver:
        graph(saver, lambda state: {"map": [*reversed(state["map"])]}).invoke({"count": 1}, CONFIG)
    away.come_back()
    with away.saver() as saver:
        assert graph(saver, lambda _state: {}).get_state(CONFIG).values["map"] == [*reversed(others)]
