"""Exports of threads whose media cannot be had: no placeholder of a read is told as what was said."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.channels import DeltaChannel
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages

from langgraph_portable_checkpoint import PortableRedisSaver, export_thread
from langgraph_portable_checkpoint.errors import LossyExportError
from tests.cli.conftest import Cli
from tests.cli.conftest import cli as cli
from tests.servers import Room

CONFIG: Any = {"configurable": {"thread_id": "t"}}
PLACEHOLDER = "not available on read"
GONE = "[image/png: not available here]"


def _gather(said: list[Any], writes: Any) -> list[Any]:
    return [*said, *(message for write in writes for message in (write if isinstance(write, list) else [write]))]


class Plain(TypedDict):
    messages: Annotated[list[Any], add_messages]


class Delta(TypedDict):
    messages: Annotated[list[Any], DeltaChannel(_gather, snapshot_frequency=4)]


def seen(seed: int) -> HumanMessage:
    noise = b"".join(hashlib.sha256(f"{seed}.{at}".encode()).digest() for at in range(160))
    url = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + noise).decode()
    part = {"type": "image_url", "image_url": {"url": url}}
    return HumanMessage([{"type": "text", "text": f"see {seed}"}, part], id=f"q{seed}")


def graph(saver: PortableRedisSaver, state: type) -> Any:
    builder = StateGraph(state).add_node("answer", lambda _: {"messages": [AIMessage("ok", id="a")]})
    return builder.add_edge(START, "answer").compile(checkpointer=saver)


def talked(server: Room, folder: Path, state: type) -> PortableRedisSaver:
    """Return a saver of a thread with two pictures, whose store has only the second."""
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix, media_store=folder) as made:
        graph(made, state).invoke({"messages": [seen(1)]}, CONFIG)
        (first,) = made.media_table("t")
        graph(made, state).invoke({"messages": [seen(2)]}, CONFIG)
        assert first.ref is not None
        made.media_store.delete(first.ref)
    return PortableRedisSaver.from_url(server.url, prefix=server.prefix, media_store=folder)


@pytest.mark.parametrize(("state", "through"), [(Plain, "saver"), (Plain, "graph"), (Delta, "graph")])
def test_a_medium_that_cannot_be_read_is_a_loss_of_the_export(
    server: Room, tmp_path: Path, state: type, through: str
) -> None:
    with talked(server, tmp_path / "media", state) as saver:
        source = saver if through == "saver" else graph(saver, state)
        export = export_thread(source, "t", "openai-chat")
        said = [message["content"] for message in export.payload["messages"] if message["role"] == "user"]
        assert [said[0][1], said[1][1]["type"]] == [{"type": "text", "text": GONE}, "image_url"]
        assert [(loss.kind, loss.path) for loss in export.report] == [("unresolved", "content[1]")]
        with pytest.raises(LossyExportError):
            export_thread(source, "t", "openai-chat", strict=True)


def test_commands_that_write_files_of_threads_tell_of_media_that_they_do_not_hold(
    server: Room, cli: Cli, tmp_path: Path
) -> None:
    talked(server, tmp_path / "media", Plain).close()
    place = ("--redis-url", server.url, "--prefix", server.prefix, "--media", tmp_path / "media")
    merged = cli("merge", "t", "t", "--thread", "-o", tmp_path / "merged.jsonl", *place)
    resumed = cli("resume", "t", "--thread", *place, "--", "sh", "-c", f"cp $AGENT_CHECKPOINT_INIT {tmp_path}/out")
    exported = cli("export", "t", "--to", "agent-checkpoint", "-o", tmp_path / "export.jsonl", *place)
    assert [ran.code for ran in (merged, resumed, exported)] == [0, 0, 0]
    for ran, file in ((merged, "merged.jsonl"), (resumed, "out"), (exported, "export.jsonl")):
        assert PLACEHOLDER not in (tmp_path / file).read_text()
        assert GONE in (tmp_path / file).read_text()
        assert "AC5" in ran.err
