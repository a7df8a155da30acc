"""A thread that is deleted, replaced or pruned between two calls of a read: the read tells of what there is then.

Each read is cut at each of its calls in turn. It never says that a thread is damaged.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any, Final

import pytest
import redis.asyncio
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from langgraph_portable_checkpoint import PortableRedisSaver, copy_threads, errors
from tests.saver.between import AsyncBetween, Between
from tests.saver.calls import Calls
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.saver.conftest import SaverFactory
from tests.servers import Room


def picture(tag: str) -> list[Any]:
    data = b"\x89PNG\r\n\x1a\n" + tag.encode() * 2000
    return [{"type": "image", "mime_type": "image/png", "base64": base64.b64encode(data).decode()}]


def grown(saver: Any, tag: str, messages: int, place: Any = None, *, thread_id: str = "t") -> Any:
    """Put two checkpoints; the second has all of the messages."""
    said: list[Any] = [HumanMessage(f"{tag}{number} " + "x" * 90, id=f"{tag}{number}") for number in range(messages)]
    said.append(HumanMessage(picture(tag), id=f"{tag}-picture"))
    for upto in (1, messages + 1):
        place = saver.put(
            place or config(thread_id),
            checkpoint({"messages": said[:upto]}, {"messages": upto}),
            metadata(upto),
            {"messages": upto},
        )
    return place


def _overwrite(saver: Any) -> None:
    source = InMemorySaver()
    grown(source, "new", 1)
    copy_threads(source, saver, ["t"], on_existing="overwrite")


def _begin_anew(saver: Any) -> None:
    saver.delete_thread("t")
    grown(saver, "new", 1)


CHANGES: Final[dict[str, Callable[[Any], Any]]] = {
    "delete": lambda saver: saver.delete_thread("t"),
    "overwrite": _overwrite,
    "delete and begin anew": _begin_anew,
    "prune": lambda saver: saver.prune(["t"]),
}


def _tuples(found: Any) -> list[Any]:
    return [
        (made.config["configurable"]["thread_id"], [m.content for m in made.checkpoint["channel_values"]["messages"]])
        for made in found
    ]


def _archive(calls: Calls, saver: Any) -> Any:
    try:
        return {**json.loads(calls.run(saver, "to_json", "t")), "saved_at": None}
    except errors.ThreadNotFoundError:
        return None


READS: Final[dict[str, Callable[[Calls, Any], Any]]] = {
    "get_tuple": lambda calls, saver: _tuples(filter(None, [calls.get_tuple(saver, config("t"))])),
    "list": lambda calls, saver: _tuples(calls.list(saver, {"configurable": {"thread_id": "t"}})),
    "list of one namespace": lambda calls, saver: _tuples(
        calls.list(saver, {"configurable": {"thread_id": "t", "checkpoint_ns": ""}})
    ),
    "list of all": lambda calls, saver: _tuples(calls.list(saver, None)),
    "turns": lambda calls, saver: [
        [message["id"] for message in turn.messages] for turn in calls.drain(saver, "turns", "t")
    ],
    "to_json": _archive,
    "thread_info": lambda calls, saver: (info := calls.run(saver, "thread_info", "t")) and info.turns,
}


class Cut:
    """A saver that knows the thread's beginning, and lets something happen ahead of its n-th call."""

    def __init__(self, room: Room, calls: Calls, serde: dict[str, Any]) -> None:
        self.at: int | None = None
        self.change: Callable[[], Any] = lambda: None
        self.begun = 0
        kind: Any = {"sync": Between, "async": AsyncBetween}[calls.mode]
        library: Any = {"sync": redis, "async": redis.asyncio}[calls.mode]
        self.client = kind(library.Redis.from_url(room.url), self._before)
        named = {"client" if calls.mode == "sync" else "async_client": self.client}
        self.saver = PortableRedisSaver(**named, prefix=room.prefix, **serde)

    def _before(self, call: int) -> None:
        if self.at is not None and call - self.begun == self.at:
            self.at = None
            self.change()

    def read(self, read: Callable[[Any], Any], at: int, change: Callable[[], Any]) -> Any:
        self.at, self.change, self.begun = at, change, self.client.calls
        return read(self.saver)


@pytest.fixture(params=["in the open", "sealed"])
def serde(request: pytest.FixtureRequest) -> dict[str, Any]:
    sealed = {"serde": EncryptedSerializer.from_pycryptodome_aes(key=b"k" * 32)}
    return sealed if request.param == "sealed" else {}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("what", READS)
def test_read_tells_of_one_state_or_the_other(
    server: Room, make_saver: SaverFactory, calls: Calls, serde: dict[str, Any], what: str, change: str
) -> None:
    other = make_saver(**serde)
    read = READS[what]
    for at in range(20):
        other.delete_thread("t")
        place = grown(other, "old", 1)
        cut = Cut(server, calls, serde)
        calls.get_tuple(cut.saver, config("t"))
        grown(other, f"{at}-", 80, place)
        before = read(Calls(), make_saver(**serde))
        found = cut.read(lambda saver: read(calls, saver), at, lambda: CHANGES[change](other))
        if cut.at is not None:
            break
        after = read(Calls(), make_saver(**serde))
        if what.startswith("list"):  # pages of a listing are of the moments when they are read
            assert all(made in before or made in after for made in found)
        else:
            assert found in (before, after)
    assert 1 < at < 19


@pytest.mark.parametrize("what", [name for name in READS if name != "thread_info"])
def test_item_that_the_same_thread_lacks_is_damage_still(
    server: Room, make_saver: SaverFactory, calls: Calls, what: str
) -> None:
    grown(make_saver(), "old", 80)
    with server.client() as client:
        (items,) = [key for key in make_saver.stored() if client.type(key) == b"hash" and key.endswith(b":items")]
        client.hdel(items, *client.hkeys(items)[1:])
    with pytest.raises(errors.MissingItemError):
        READS[what](calls, make_saver())


def test_other_threads_are_listed_beside_one_that_is_deleted(
    server: Room, make_saver: SaverFactory, calls: Calls
) -> None:
    other = make_saver()
    for thread_id in ("a", "t", "z"):
        grown(other, thread_id, 40, thread_id=thread_id)
    cut = Cut(server, calls, {})
    found = cut.read(lambda saver: READS["list of all"](calls, saver), 4, lambda: other.delete_thread("t"))
    assert cut.at is None
    assert {thread_id for thread_id, _ in found} == {"a", "z"}


def test_read_that_meets_another_thread_each_time_gives_up(
    server: Room, make_saver: SaverFactory, calls: Calls
) -> None:
    other = make_saver()
    grown(other, "old", 80)
    cut = Cut(server, calls, {})

    def replace() -> None:
        cut.at = cut.client.calls - cut.begun + 1
        other.delete_thread("t")
        grown(other, f"n{cut.at}", 80)

    with pytest.raises(errors.ConflictError, match="during one read"):
        cut.read(lambda saver: calls.drain(saver, "turns", "t"), 1, replace)
