"""Keys of other programs where ours would stand: refused with a typed error before anything is changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from langgraph_portable_checkpoint import errors
from langgraph_portable_checkpoint.storage.layout import THREAD_PARTS, Layout
from tests.saver.conftest import SaverFactory
from tests.saver.test_interruptions import OPERATIONS, made


def _hold(saver: Any) -> None:
    with saver.exclusive_turn("t"):
        pass


ALL: dict[str, Callable[[Any], Any]] = {**OPERATIONS, "persist": lambda saver: saver.persist("t"), "lease": _hold}


SPARED: dict[str, tuple[str, ...]] = {
    "lease": tuple(part for part in THREAD_PARTS if part not in ("meta", "lease")),
    "put_writes": ("index", "turns", "runs"),
    "put_writes of an interrupt": ("index", "blobs", "media", "runs"),
    "truncate_to_turn": ("runs",),
}
"""Keys that an operation neither reads nor writes: what stands there is left alone, and the operation is done."""


def contents(client: Any, prefix: str) -> dict[bytes, tuple[bytes, bool]]:
    """Return every key of the threads as the server stores it, and whether it expires."""
    keys = sorted(client.scan_iter(match=f"{prefix}:1:{{t:*", count=1000))
    return {key: (client.dump(key), client.pttl(key) > 0) for key in keys}


@pytest.mark.parametrize("part", THREAD_PARTS)
@pytest.mark.parametrize("name", ALL)
def test_operation_that_meets_a_foreign_key_changes_nothing(make_saver: SaverFactory, name: str, part: str) -> None:
    made(make_saver())
    saver, prefix = make_saver(), make_saver.room.prefix
    target = "copy" if name in ("copy_thread", "first put") else "t"
    key = Layout(prefix).thread(target)[THREAD_PARTS.index(part)]
    with make_saver.room.client() as client:
        client.delete(key)
        client.geoadd(key, (1, 1, "a shop of someone else's")) if part != "index" else client.set(key, "not ours")
        before = contents(client, prefix)
        if part in SPARED.get(name, ()):
            ALL[name](saver)
            assert contents(client, prefix)[key] == before[key]
            return
        with pytest.raises(errors.StorageError) as caught:
            ALL[name](saver)
        assert contents(client, prefix) == before
        assert not isinstance(caught.value, errors.WrongServerError) or "prefix" in str(caught.value)
