"""What the client's caches forget is fetched again: however small they are, reads give the same."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langgraph_portable_checkpoint import export_thread
from langgraph_portable_checkpoint.media.cache import BlobCache
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.saver.conftest import SaverFactory

PNG = b"\x89PNG\r\n\x1a\n"
CALL: dict[str, Any] = {"name": "f", "args": {"q": "tea"}, "id": "c", "type": "tool_call"}
SIZES = [0, 300, 700, 1500, 3000, 6000, 12000]


def _messages(turn: int) -> list[BaseMessage]:
    picture = base64.b64encode(PNG + bytes([turn]) * 5000).decode()
    return [
        HumanMessage([{"type": "image", "base64": picture, "mime_type": "image/png"}], id=f"q{turn}"),
        AIMessage(f"look {turn}", tool_calls=[CALL], id=f"p{turn}"),
        ToolMessage(f"found {turn}", tool_call_id="c", id=f"r{turn}"),
        AIMessage([{"type": "text", "text": f"so {turn}"}], id=f"a{turn}"),
    ]


def _small(saver: Any, size_bytes: int, *, items: bool) -> Any:
    if items:
        saver._core.items.budget_bytes = size_bytes
    saver._core.blobs = BlobCache(size_bytes)
    return saver


@pytest.mark.parametrize("items", [True, False])
@pytest.mark.parametrize("size_bytes", SIZES)
def test_reads_do_not_depend_on_what_the_caches_keep(make_saver: SaverFactory, size_bytes: int, items: bool) -> None:
    writer, readers = make_saver(), [_small(make_saver(), size_bytes, items=items) for _ in range(2)]
    place, said = config("t"), list[BaseMessage]()
    for turn in range(6):
        said = [*said, *_messages(turn)]
        made = checkpoint({"messages": said}, {"messages": turn + 1})
        place = (writer, *readers)[turn % 3].put(place, made, metadata(turn), {"messages": turn + 1})
        told = export_thread(writer, "t", "openai-chat")
        for reader in readers:
            assert reader.get_tuple(config("t")).checkpoint["channel_values"]["messages"] == said
            assert export_thread(reader, "t", "openai-chat") == told
            assert [envelope["id"] for turn in reader.turns("t") for envelope in turn.messages] == [m.id for m in said]
            listed = [found.checkpoint["channel_values"]["messages"] for found in reader.list(config("t"))]
            assert listed == [said[: 4 * (step + 1)] for step in reversed(range(turn + 1))]
    assert not any(reader.media_report("t") for reader in readers)
