"""The only place that spells a key.

`{prefix}:1:` carries the layout version. A thread's keys share the hash tag `{t:<percent-encoded thread id>}`, so
they live in one slot of a cluster and one script can touch them all. No key is ever parsed back.

| key | type | holds |
|---|---|---|
| `{prefix}:1:{t:ID}:meta` | hash | see below |
| `{prefix}:1:{t:ID}:items` | hash | 16-byte digest -> item bytes; `staged:` -> records of a load |
| `{prefix}:1:{t:ID}:ckpts` | hash | ns NUL checkpoint_id -> checkpoint record |
| `{prefix}:1:{t:ID}:index` | zset, all scores 0 | ns NUL checkpoint_id, in byte order |
| `{prefix}:1:{t:ID}:writes` | hash | ns NUL checkpoint_id -> frames of pending writes |
| `{prefix}:1:{t:ID}:turns` | hash | turn number -> turn envelope; turn number:page number -> page of a long turn |
| `{prefix}:1:{t:ID}:blobs` | hash | 16-byte digest -> media bytes |
| `{prefix}:1:{t:ID}:media` | hash | 16-byte digest -> media table record; `report` and a digest -> media report entry |
| `{prefix}:1:{t:ID}:runs` | set | 16-byte digests of the run ids seen |
| `{prefix}:1:{t:ID}:gone` | string with a TTL | tombstone: the highest checkpoint id at the delete or overwriting |
| `{prefix}:1:{t:ID}:lease` | string with a TTL | holder and fencing token of `exclusive_turn` |
| `{prefix}:1:{t:ID}:new:NONCE:` and each of these | with a TTL | a thread that is to take the place of this one |
| `{prefix}:1:{r:N}:threads` | zset | registry shard N (0 to 63): thread ids, scored by expiry (ms) or +inf |
| `{prefix}:1:{r:N}:runs` | zset, all scores 0 | run shard N: run digest, then the thread id |

The fields of `meta`: generation `g`, sealed digest key `k`, thread id `t`, highest checkpoint id `m`, own ttl `ttl`,
place that the turn log belongs to `th`, number of turns `tn`, last lease holder `f`.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from urllib.parse import quote

from ..errors import InvalidIdError

LAYOUT_VERSION = 1
SHARDS = 64
THREAD_PARTS = ("meta", "items", "ckpts", "index", "writes", "turns", "blobs", "media", "runs", "gone", "lease")
"""Order of KEYS in every script that takes a thread's keys."""

MAX_ID_BYTES = 64 * 1024
MAX_TASK_ID_BYTES = 65_500
"""A frame of pending writes counts its key, a task id and a number, in two bytes."""


def checked_id(field: str, value: object, *, empty_ok: bool = False, max_bytes: int = MAX_ID_BYTES) -> str:
    """Return `value` when it is a usable id.

    Raises:
        InvalidIdError: not a string, empty where that is not allowed, not encodable, or longer than `max_bytes`.
    """
    if not isinstance(value, str):
        raise InvalidIdError(field, value, fix='Pass a string in config["configurable"], for example a uuid4.')
    if not value and not empty_ok:
        raise InvalidIdError(field, value, fix="It must not be empty.")
    try:
        size = len(value) if value.isascii() else len(value.encode())
    except UnicodeEncodeError:
        raise InvalidIdError(field, value, fix="It has a lone surrogate; ids must be valid Unicode text.") from None
    if size > max_bytes:
        raise InvalidIdError(field, value[:40], fix=f"It has {size} bytes; the limit is {max_bytes}.")
    return value


def _escape(value: str) -> str:
    """Make NUL free for use as the separator, keeping byte order: 0x00 -> 0x01 0x01, 0x01 -> 0x01 0x02."""
    if "\0" in value or "\1" in value:
        return value.replace("\1", "\1\2").replace("\0", "\1\1")
    return value


def _unescape(value: str) -> str:
    if "\1" in value:
        return value.replace("\1\1", "\0").replace("\1\2", "\1")
    return value


def place(checkpoint_ns: str, checkpoint_id: str) -> bytes:
    """Spell the field and index member of a checkpoint: ns NUL id, both escaped.

    The pair is injective, and byte order is (ns, id) order.
    """
    return f"{_escape(checkpoint_ns)}\0{_escape(checkpoint_id)}".encode()


def split_place(member: bytes) -> tuple[str, str]:
    """Invert `place`; bytes that no `place` spells give names that no checkpoint has."""
    ns, _, checkpoint_id = member.decode(errors="replace").partition("\0")
    return _unescape(ns), _unescape(checkpoint_id)


def thread_of(name: bytes) -> str:
    """Read a thread id from a registry; bytes that are no text give an id that no thread of that name has."""
    return name.decode(errors="replace")


def run_digest(run_id: str) -> bytes:
    """Name a run in the indexes without showing its id."""
    return blake2b(run_id.encode(), digest_size=16, person=b"lpc-run").digest()


def prefix_of(key: bytes) -> str:
    """Return the prefix that a key was spelled with, for messages."""
    return key.decode(errors="replace").partition(f":{LAYOUT_VERSION}:{{")[0]


@dataclass(frozen=True, slots=True)
class Layout:
    """Spells keys under one prefix."""

    prefix: str
    staging: str = ""
    """The nonce of the keys under which a thread waits to take the place of another; "" for its own keys."""

    def __post_init__(self) -> None:
        if not self.prefix or "{" in self.prefix or "}" in self.prefix:
            raise InvalidIdError("prefix", self.prefix, fix="Use a non-empty prefix without braces.")

    def thread(self, thread_id: str) -> tuple[bytes, ...]:
        """Spell all keys of a thread, in the order of `THREAD_PARTS`."""
        base = f"{self.prefix}:{LAYOUT_VERSION}:{{t:{quote(thread_id, safe='')}}}:{self._staged}"
        return tuple((base + part).encode() for part in THREAD_PARTS)

    @property
    def _staged(self) -> str:
        return f"new:{self.staging}:" if self.staging else ""

    def registry(self, shard: int) -> bytes:
        """Spell the key of a registry shard."""
        return f"{self.prefix}:{LAYOUT_VERSION}:{{r:{shard}}}:threads".encode()

    def run_index(self, shard: int) -> bytes:
        """Spell the key of a run index shard."""
        return f"{self.prefix}:{LAYOUT_VERSION}:{{r:{shard}}}:runs".encode()

    @staticmethod
    def shard_of(name: bytes) -> int:
        """Pick the shard of a thread id or run digest."""
        return blake2b(name, digest_size=2).digest()[0] % SHARDS
