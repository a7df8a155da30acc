"""Exports of threads whose media cannot be had: no placeholder of a read is told as what was said."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.channels import DeltaChannel
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages

from langgraph_portable_checkpoint import PortableRedisSaver, adapt_messages, export_thread, lint
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


PICTURE = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20).decode()
SOUND = b"RIFF\x00\x10\x00\x00WAVEfmt " + bytes(range(256)) * 20
OPENAI: Any = {"model_provider": "openai", "model_name": "gpt-5", "id": "resp_1"}
SAID = {"type": "text", "text": "x", "id": "msg_1"}
CODE = {"type": "code_interpreter_call", "id": "ci_1", "code": "x", "container_id": "c", "status": "completed"}
DRAWN = {"type": "image_generation_call", "id": "ig_1", "result": PICTURE, "status": "completed"}
URL = f"data:image/png;base64,{PICTURE}"
SOURCE = {"type": "base64", "media_type": "image/png", "data": PICTURE}
ASKED = {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "shot", "input": {}, "server_name": "s"}
SHOWN = {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": False}
ELSEWHERE: dict[str, tuple[str, list[Any]]] = {
    "an item": ("openai-responses", [AIMessage([DRAWN, SAID], response_metadata=OPENAI)]),
    "an output of code": (
        "openai-responses",
        [AIMessage([{**CODE, "outputs": [{"type": "image", "url": URL}]}, SAID], response_metadata=OPENAI)],
    ),
    "arguments": (
        "anthropic",
        [
            AIMessage("", tool_calls=[{"name": "upload", "args": {"file": PICTURE}, "id": "c"}]),
            ToolMessage("ok", tool_call_id="c"),
            AIMessage("done"),
        ],
    ),
    "a result of a server's tool": (
        "anthropic",
        [
            AIMessage(
                [ASKED, {**SHOWN, "content": [{"type": "image", "source": SOURCE}]}, {"type": "text", "text": "x"}],
                response_metadata={"model_provider": "anthropic"},
            )
        ],
    ),
    "spoken by Gemini": (
        "google",
        [AIMessage("", additional_kwargs={"audio": SOUND}, response_metadata={"model_provider": "google_genai"})],
    ),
    "spoken by GPT": (
        "openai-chat",
        [
            AIMessage(
                "",
                additional_kwargs={"audio": {"id": "audio_1", "data": base64.b64encode(SOUND).decode()}},
                response_metadata={"model_provider": "openai"},
            )
        ],
    ),
}


@pytest.mark.parametrize("gone", [True, False], ids=["gone", "not read"])
@pytest.mark.parametrize("place", ELSEWHERE)
def test_a_medium_that_stands_in_no_part_is_told_too(server: Room, tmp_path: Path, place: str, gone: bool) -> None:
    own, said = ELSEWHERE[place]
    folder = tmp_path / "media"
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix, media_store=folder) as saver:
        graph(saver, Plain).invoke({"messages": [HumanMessage("q"), *said, HumanMessage("z")]}, CONFIG)
        (medium,) = saver.media_table("t")
        if gone:
            saver.media_store.delete(str(medium.ref))
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix, media_store=folder) as saver:
        for target in (own, "otel", "langchain"):
            for source in (saver, graph(saver, Plain)):
                export = export_thread(source, "t", target, resolve_media=gone)
                assert [loss.message for loss in export.report if loss.kind == "unresolved"] == [1]
                assert not any(
                    empty in json.dumps(export.payload) for empty in ('"data": ""', '"url": ""', '"file": null')
                )
                assert lint(export.payload, target) == []
                with pytest.raises(LossyExportError):
                    export_thread(source, "t", target, resolve_media=gone, strict=True)


def test_what_a_tool_gave_beside_its_content_is_told_where_it_would_be(server: Room, tmp_path: Path) -> None:
    call = {"name": "draw", "args": {}, "id": "c"}
    drawn = ToolMessage("drawn", tool_call_id="c", artifact={"image": SOUND})
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix, media_store=tmp_path / "media") as saver:
        said = [HumanMessage("q"), AIMessage("", tool_calls=[call]), drawn]
        graph(saver, Plain).invoke({"messages": said}, CONFIG)
        assert export_thread(saver, "t", "anthropic", resolve_media=False).lossless
        export = export_thread(saver, "t", "langchain", resolve_media=False)
        assert [(loss.message, loss.path) for loss in export.report if loss.kind == "unresolved"] == [(2, "artifact")]
        assert "kept as" in export.payload["messages"][2]["data"]["artifact"]["image"]


def test_losses_of_messages_that_are_not_chosen_are_not_told(server: Room, tmp_path: Path) -> None:
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix, media_store=tmp_path / "media") as saver:
        _, said = ELSEWHERE["arguments"]
        graph(saver, Plain).invoke({"messages": [HumanMessage("q"), *said, HumanMessage("z")]}, CONFIG)
        assert len(export_thread(saver, "t", "anthropic", resolve_media=False).report) == 1
        assert export_thread(saver, "t", "anthropic", resolve_media=False, turns=1).lossless


@pytest.mark.parametrize(
    "part",
    [
        {"type": "media", "mime_type": "audio/wav", "data": SOUND},
        {"type": "input_audio", "input_audio": base64.b64encode(SOUND).decode()},
        {"type": "document_url", "document_url": URL},
    ],
    ids=lambda part: str(part["type"]),
)
def test_a_part_of_one_integration_s_is_told_like_any_other(server: Room, tmp_path: Path, part: dict[str, Any]) -> None:
    folder = tmp_path / "media"
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix, media_store=folder) as saver:
        graph(saver, Plain).invoke({"messages": [HumanMessage([part])]}, CONFIG)
        (medium,) = saver.media_table("t")
        saver.media_store.delete(str(medium.ref))
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix, media_store=folder) as saver:
        for target in ("google", "mistral", "anthropic"):
            export = export_thread(saver, "t", target)
            assert [(loss.kind, loss.path) for loss in export.report] == [("unresolved", "content[0]")]
            assert "not available here" in json.dumps(export.payload)


def test_what_a_provider_sealed_is_no_medium(server: Room) -> None:
    sealed = {"type": "reasoning_content", "reasoning_content": {"redacted_content": bytes(range(256)) * 20}}
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as saver:
        said = AIMessage(
            [sealed, {"type": "text", "text": "a"}], response_metadata={"model_provider": "bedrock_converse"}
        )
        graph(saver, Plain).invoke({"messages": [HumanMessage("q"), said, HumanMessage("z")]}, CONFIG)
        assert not list(saver.media_table("t"))
        export = export_thread(saver, "t", "bedrock", resolve_media=False)
        assert export.lossless
        assert bytes(range(256)) * 20 in [
            block["reasoningContent"].get("redactedContent")
            for block in export.payload["messages"][1]["content"]
            if "reasoningContent" in block
        ]


def test_a_request_to_another_model_tells_of_media_that_were_not_read(server: Room) -> None:
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as saver:
        graph(saver, Plain).invoke({"messages": [seen(1)]}, CONFIG)
        bare: Any = {"configurable": {"thread_id": "t", "media": "none"}}
        messages = graph(saver, Plain).get_state(bare).values["messages"]
        adapted = adapt_messages(messages, "anthropic")
        assert [(loss.kind, loss.path) for loss in adapted.report] == [("unresolved", "content[1]")]
        assert "[image/png: not available here]" in str(adapted.messages[0].content)
        whole = graph(saver, Plain).get_state(CONFIG).values["messages"]
        assert adapt_messages(whole, "anthropic").report == ()


@pytest.mark.parametrize("number", range(3))
def test_no_text_of_a_message_is_taken_for_what_stands_for_a_medium(server: Room, number: int) -> None:
    """What an export puts in the place of a medium that was not read cannot be guessed, nor copied from another."""
    marks = [base64.b64encode(b"medium %09d" % number).decode(), base64.b64encode(bytes(18)).decode()]
    said = f"Decode this for me: {' and '.join(marks)}"
    picture = seen(1)
    question = HumanMessage([*picture.content, {"type": "text", "text": said}], id="q")
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as saver:
        graph(saver, Plain).invoke({"messages": [question]}, CONFIG)
        export = export_thread(saver, "t", to="anthropic", resolve_media=False)
        unread = graph(saver, Plain).get_state({"configurable": {"thread_id": "t", "media": "none"}}).values
    assert said in [part["text"] for part in export.payload["messages"][0]["content"]]
    assert said in str(adapt_messages(unread["messages"], "openai-chat").messages[0].content)
