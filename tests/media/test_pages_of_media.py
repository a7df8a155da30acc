"""A listing holds each medium once, and no more of them at a time than a page may have."""

from __future__ import annotations

import base64
import hashlib
from operator import itemgetter
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_portable_checkpoint import PortableRedisSaver
from langgraph_portable_checkpoint.media.cache import BlobCache
from langgraph_portable_checkpoint.storage.decoder import Decoder
from langgraph_portable_checkpoint.storage.programs import listing
from tests.saver.checkpoints import checkpoint
from tests.servers import Room

SIZE = 5_000
PAGES_OF = pytest.mark.parametrize("per_page", [0, 1, 2, 7])
QUERIES: list[Any] = [
    {"thread_id": "t", "checkpoint_ns": ""},
    {"thread_id": "t"},
    {"thread_id": "t", "checkpoint_ns": "", "media": 1},
    None,
]


def part(number: int) -> dict[str, Any]:
    noise = b"".join(hashlib.sha256(f"{number}.{at}".encode()).digest() for at in range(SIZE // 32))
    return {
        "type": "image",
        "base64": base64.b64encode(b"\x89PNG\r\n\x1a\n" + noise).decode(),
        "mime_type": "image/png",
    }


def screens(saver: Any, threads: list[str], count: int) -> None:
    """Each checkpoint shows another screen, and all of a thread hold one picture."""
    for number in range(count):
        for at, thread in enumerate(threads):
            where = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
            values = {
                "screen": part(number * len(threads) + at),
                "messages": [HumanMessage([part(99)], id="h")],
            }
            named = checkpoint(values, checkpoint_id=f"{number * len(threads) + at:04}")
            versions: Any = {"screen": number + 1, "messages": number + 1}
            saver.put(where, {**named, "channel_versions": versions}, {"step": number}, versions)


def listed(saver: Any, query: Any, **more: Any) -> list[Any]:
    config = None if query is None else {"configurable": query}
    return [said(each) for each in saver.list(config, **more)]


def said(found: Any) -> Any:
    return found.config["configurable"]["checkpoint_id"], found.checkpoint["channel_values"], found.metadata


@PAGES_OF
@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("more", [{}, {"limit": 5}, {"filter": {"step": 2}}], ids=str)
def test_pages_of_few_media_list_the_same(
    server: Room, monkeypatch: pytest.MonkeyPatch, per_page: int, query: Any, more: dict[str, Any]
) -> None:
    threads = ["t", "u"] if query is None else ["t"]
    reference = InMemorySaver()
    screens(reference, threads, 6)
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as saver:
        screens(saver, threads, 6)
    monkeypatch.setattr(listing, "PAGE_MEDIA_BYTES", (per_page + 1) * (SIZE + 32))
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as saver:
        found = listed(saver, query, **more)
    limit = more.get("limit")
    more = {key: value for key, value in more.items() if key != "limit"}
    assert found == sorted(listed(reference, query, **more), key=itemgetter(0), reverse=True)[:limit]


@pytest.mark.parametrize(("query", "threads"), [*((query, 1) for query in QUERIES), (None, 2), (None, 7)])
def test_a_page_holds_no_more_media_than_it_may(
    server: Room, monkeypatch: pytest.MonkeyPatch, query: Any, threads: int
) -> None:
    held: list[int] = []
    decoders: list[Decoder] = []
    initial, fetched = Decoder.__init__, listing.tuple_of

    def noting(self: Decoder, *args: Any, **options: Any) -> None:
        initial(self, *args, **options)
        decoders.append(self)

    def made(*args: Any, **options: Any) -> Any:
        held.append(sum(len(data) for decoder in decoders for data in decoder.media.values()))
        return fetched(*args, **options)

    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as saver:
        screens(saver, list("tuvwxyz"[:threads]), 9)
    monkeypatch.setattr(Decoder, "__init__", noting)
    monkeypatch.setattr(listing, "tuple_of", made)
    monkeypatch.setattr(listing, "PAGE_MEDIA_BYTES", 4 * (SIZE + 32))
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as saver:
        monkeypatch.setattr(saver._core, "blobs", BlobCache(budget_bytes=0))
        pages = saver._pages(None if query is None else {"configurable": query}, None, None, None)
        count = 0
        while (program := pages.next_program()) is not None:
            decoders.clear()
            count += len(pages.take(saver._run(program)))
    assert count == 9 * threads
    assert 0 < max(held) <= 4 * (SIZE + 32)


def test_checkpoints_of_a_page_share_the_text_of_a_medium(server: Room) -> None:
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as saver:
        screens(saver, ["t"], 6)
        tuples = list(saver.list({"configurable": {"thread_id": "t"}}))
    texts = [each.checkpoint["channel_values"]["messages"][0].content[0]["base64"] for each in tuples]
    assert len(texts) == 6
    assert len({id(text) for text in texts}) == 1
    parts = [each.checkpoint["channel_values"]["messages"][0].content[0] for each in tuples]
    assert len({id(one) for one in parts}) == 6


async def test_an_awaited_listing_lists_the_same(server: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as saver:
        screens(saver, ["t"], 6)
        expected = listed(saver, QUERIES[1])
    monkeypatch.setattr(listing, "PAGE_MEDIA_BYTES", 2 * (SIZE + 32))
    async with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as saver:
        found = [each async for each in saver.alist({"configurable": {"thread_id": "t"}})]
    assert [said(each) for each in found] == expected
