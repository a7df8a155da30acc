"""Why a medium could not be read: the report and the hook give the cause in one line; hooks that nobody would await."""

from __future__ import annotations

import asyncio
import functools
from pathlib import Path
from typing import Any

import pytest

from langgraph_portable_checkpoint import MediaHooks
from langgraph_portable_checkpoint.errors import MediaMissingError, MediaStoreError
from tests.saver.calls import Calls
from tests.saver.checkpoints import config
from tests.saver.conftest import SaverFactory
from tests.saver.conftest import calls as calls
from tests.saver.conftest import make_saver as make_saver

from .test_hostile import PNG, Moody, _fail, _hang, part, put


def _raise(error: BaseException) -> Any:
    raise error


def _told(calls: Calls, saver: Any) -> list[tuple[str, str]]:
    """What the report says, from what is read now and from what reads have met; they have to agree."""
    checked = calls.run(saver, "media_report", "t")
    assert calls.run(saver, "media_report", "t", check=False) == checked
    return [(entry.reason, entry.detail) for entry in checked]


@pytest.mark.parametrize(
    ("mood", "reason", "detail"),
    [
        (_fail, "missing_blob", "the media store 'moody' failed in get(): RuntimeError: out of order"),
        (_hang, "missing_blob", "the media store 'moody' failed in get(): it did not answer within 0.1 seconds"),
        (
            functools.partial(_raise, PermissionError("403 AccessDenied: key expired\nsecret")),
            "missing_blob",
            "the media store 'moody' failed in get(): PermissionError: 403 AccessDenied: key expired",
        ),
        (
            functools.partial(_raise, KeyError("x")),
            "missing_blob",
            "the media store 'moody' failed in get(): KeyError: 'x'",
        ),
        (
            functools.partial(_raise, MediaStoreError("full")),
            "missing_blob",
            "the media store 'moody' failed in get(): full",
        ),
        (functools.partial(_raise, MediaMissingError("a\nb\ud800")), "missing_blob", "a b?"),
        (functools.partial(_raise, MediaMissingError("long" * 500)), "missing_blob", "long" * 150),
        (lambda: None, "missing_blob", "the media store 'moody' answered get() with NoneType, not bytes"),
        (lambda: bytearray(PNG), "missing_blob", "the media store 'moody' answered get() with bytearray, not bytes"),
        (lambda: "text", "missing_blob", "the media store 'moody' answered get() with str, not bytes"),
    ],
)
def test_what_a_store_says_is_told(make_saver: SaverFactory, calls: Calls, mood: Any, reason: str, detail: str) -> None:
    store, heard = Moody(), list[Any]()
    put(calls, make_saver(media_store=store), part(PNG))
    store.mood = mood
    hooks = MediaHooks(on_missing=heard.append)
    saver = make_saver(media_store=store, media_timeout_seconds=0.1, media_hooks=hooks)
    calls.get_tuple(saver, config("t"))
    assert _told(calls, saver) == [(reason, detail)]
    assert [(entry.reason, entry.detail, entry.mime_type) for entry in heard] == [(reason, detail, "image/png")]


def test_wrong_bytes_are_told_with_their_digests(make_saver: SaverFactory, calls: Calls) -> None:
    store = Moody()
    saver = make_saver(media_store=store)
    put(calls, saver, part(PNG))
    store.mood = lambda: b"other bytes"
    [(reason, detail)] = _told(calls, saver)
    assert reason == "corrupt_blob"
    assert "11 bytes have the SHA-256" in detail


def test_a_store_that_this_saver_does_not_read_is_named(make_saver: SaverFactory, calls: Calls, tmp_path: Path) -> None:
    put(calls, make_saver(media_store=Moody()), part(PNG))
    told = "it is in the media store 'moody', and this saver"
    assert _told(calls, make_saver()) == [("missing_blob", f"{told} has none")]
    assert _told(calls, make_saver(media_store=tmp_path)) == [("missing_blob", f"{told} reads 'directory'")]


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda client, key, ref: client.hdel(key(6), ref), ("missing_blob", "not with the thread any more")),
        (lambda client, key, ref: client.hset(key(6), ref, b"x"), ("corrupt_blob", "do not match its digest")),
        (lambda client, key, ref: client.delete(key(6), key(7)), ("missing_blob", "table does not say where")),
    ],
)
def test_what_is_wrong_in_the_server_is_told(
    make_saver: SaverFactory, calls: Calls, damage: Any, told: tuple[str, str]
) -> None:
    saver, heard = make_saver(), list[Any]()
    put(calls, saver, part(PNG))
    keys = saver._core.layout.thread("t")
    with make_saver.room.client() as client:
        [ref] = client.hkeys(keys[6])
        damage(client, keys.__getitem__, ref)
    listening = make_saver(media_hooks=MediaHooks(on_missing=heard.append))
    calls.get_tuple(listening, config("t"))
    [entry] = heard
    assert (entry.reason, told[1] in str(entry.detail)) == (told[0], True)


class Awaited:
    async def __call__(self, heard: Any) -> None:
        raise AssertionError("nobody awaits it")


async def awaited(heard: Any) -> None:
    raise AssertionError("nobody awaits it")


@pytest.mark.parametrize("name", ["on_externalize", "on_missing", "on_expired"])
@pytest.mark.parametrize("hook", [awaited, functools.partial(awaited), Awaited(), Awaited().__call__, "text", 5])
def test_a_hook_that_nobody_could_call_is_refused(name: str, hook: Any) -> None:
    with pytest.raises(TypeError, match=rf"{name} is (a coroutine function\. Media hooks are called|no callable)"):
        MediaHooks(**{name: hook})


@pytest.mark.parametrize(
    "returned", [lambda heard: awaited(heard), lambda heard: asyncio.get_running_loop().create_future()]
)
async def test_what_a_hook_returns_is_not_left_unawaited(make_saver: SaverFactory, returned: Any) -> None:
    saver = make_saver(media_hooks=MediaHooks(on_externalize=returned))
    with pytest.raises(TypeError, match=r"a media hook returned .*not awaited"):
        put(Calls(), saver, part(PNG))


async def test_a_queue_hears_for_a_host_that_awaits(make_saver: SaverFactory, calls: Calls) -> None:
    queue = asyncio.Queue[Any]()
    put(Calls(), make_saver(media_hooks=MediaHooks(on_externalize=queue.put_nowait)), part(PNG))
    assert (await queue.get()).size_bytes == len(PNG)
