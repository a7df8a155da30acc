"""One thread's conversation as one JSON document: self-contained, readable anywhere, written atomically.

The document: `format`, `v`, `thread_id`, `saved_at`, `writer`, `turns` (turn envelopes, each with all its messages
instead of `pages`), `messages` (one per ref: `ref` in hex, the `envelope`, and `binary`), `media` (one per blob:
`sha256`, `mime_type`, `size_bytes`, and `base64` or `store` with `ref`). Where there are some: `uploads` (copies at
providers: maps of `uploads`, `mime_type`, `size_bytes`, and the `sha256` of the bytes where `media` has them) and
`lost` (media that could not be read: `reason`, `detail`, what is known of them, and the `ref`, `message` and `turn` of
the message that holds no bytes in their place; `medium`, `places`, `store` and `store_ref`: their name there, where in
the message they stood, and where their bytes were). Fields that this version does not know are kept.

JSON has no bytes, no NaN and no keys but text. Such values inside an envelope or a turn stand outside of it, in
`binary`: a list of [path, base64 of the value's msgpack], and null stands at the path. So text that looks like a marker
is text.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import math
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

import msgpack

from langgraph_portable_checkpoint.envelope.model import ENVELOPE_VERSION, MessageEnvelope
from langgraph_portable_checkpoint.envelope.turn_log import StoredTurn
from langgraph_portable_checkpoint.envelope.turn_model import PAGE_MESSAGES, TURN_VERSION, TurnPage, TurnRecord
from langgraph_portable_checkpoint.envelope.turn_wire import dump_turn, turn_from_json, turn_to_json
from langgraph_portable_checkpoint.envelope.well_formed import problems_of
from langgraph_portable_checkpoint.errors import CorruptRecordError, FutureVersionError

ARCHIVE_FORMAT: Final = "langgraph-portable-checkpoint/thread"
ARCHIVE_VERSION: Final = 1
_WHAT: Final = "thread archive"


@dataclass(frozen=True, slots=True)
class ArchivedMedia:
    """One blob: its bytes, or where a shared store keeps them."""

    sha256: str
    mime_type: str | None
    size_bytes: int
    data: bytes | None = None
    store: str | None = None
    ref: str | None = None


@dataclass(frozen=True, slots=True)
class ThreadArchive:
    """One thread's conversation, complete."""

    thread_id: str
    saved_at: str
    writer: Mapping[str, str]
    turns: tuple[StoredTurn, ...] = ()
    messages: Mapping[bytes, MessageEnvelope] = field(default_factory=dict)
    """Envelope by ref; every ref that a turn names is here."""
    media: tuple[ArchivedMedia, ...] = ()
    inline: bool = False
    """Bytes stand in the messages, some of which look as if theirs stood elsewhere."""
    uploads: tuple[Mapping[str, Any], ...] = ()
    """Copies of media at providers: media table records without a place, see the module."""
    lost: tuple[Mapping[str, Any], ...] = ()
    """Media that could not be read when the archive was written: entries of a media report, see the module."""
    extras: Mapping[str, Any] = field(default_factory=dict)
    """Top-level fields that this version does not know."""


def archive_to_json(archive: ThreadArchive, *, path: str | os.PathLike[str] | None = None) -> str:
    """Write a thread as JSON.

    Args:
        archive: The thread.
        path: Also write the text to this file: whole or not at all (a sibling temporary file, synced, then renamed).

    Returns:
        The JSON text, ASCII only.

    Raises:
        OSError: The file cannot be written; an older file of that name is as it was.
    """
    document = {
        **archive.extras,
        "format": ARCHIVE_FORMAT,
        "v": ARCHIVE_VERSION,
        "thread_id": archive.thread_id,
        "saved_at": archive.saved_at,
        "writer": dict(archive.writer),
        "turns": [_turn_to_json(turn) for turn in archive.turns],
        "messages": [_message_to_json(ref, envelope) for ref, envelope in archive.messages.items()],
        "media": [_media_to_json(blob) for blob in archive.media],
        **({"inline": True} if archive.inline else {}),
        **({"uploads": [dict(one) for one in archive.uploads]} if archive.uploads else {}),
        **({"lost": [dict(one) for one in archive.lost]} if archive.lost else {}),
    }
    text = json.dumps(document, allow_nan=False, indent=1)
    if path is not None:
        _write_atomically(Path(path), text)
    return text


def archive_from_json(source: str | bytes | os.PathLike[str]) -> ThreadArchive:
    """Read a thread back.

    Args:
        source: JSON text, its UTF-8 bytes, or a path. A str whose first non-blank character is `{` or `[` is text,
            any other str is a path.

    Raises:
        FutureVersionError: A newer version of the format wrote it.
        CorruptRecordError: It is not a whole, sound archive; nothing is returned in part.
        OSError: The file cannot be read.
    """
    text, where = _text_of(source)
    document = _parsed(text, where)
    messages = dict(_message_from_json(entry, where) for entry in document["messages"])
    turns = tuple(_turn_from_json(entry, where) for entry in document["turns"])
    missing = {entry[0].hex() for turn in turns for entry in turn.entries if entry[0] not in messages}
    if missing:
        raise _corrupt(where, f"{len(missing)} messages are named by turns but absent, the first is {min(missing)}")
    media = tuple(_media_from_json(entry, where) for entry in document["media"])
    inline = document.get("inline") is True
    absent = set() if inline else _absent_media(messages.values(), media, document.get("lost", ()))
    if absent:
        raise _corrupt(where, f"{len(absent)} media are named by messages but absent, the first is {min(absent)}")
    return ThreadArchive(
        thread_id=document["thread_id"],
        saved_at=document["saved_at"],
        writer=document["writer"],
        turns=turns,
        messages=messages,
        media=media,
        inline=inline,
        uploads=tuple(document.get("uploads", ())),
        lost=tuple(document.get("lost", ())),
        extras={name: value for name, value in document.items() if name not in _KNOWN},
    )


_FIELDS: Final[Mapping[str, type]] = {
    "thread_id": str,
    "saved_at": str,
    "writer": dict,
    "turns": list,
    "messages": list,
    "media": list,
}
_MAPS: Final = ("uploads", "lost")
"""Optional fields: lists of maps."""
_KNOWN: Final = frozenset({"format", "v", "inline", *_FIELDS, *_MAPS})


def _text_of(source: str | bytes | os.PathLike[str]) -> tuple[str, str]:
    if isinstance(source, str) and source.lstrip()[:1] in ("{", "["):
        return source, "JSON text"
    where = "JSON bytes" if isinstance(source, bytes) else os.fspath(source)
    data = source if isinstance(source, bytes) else Path(source).read_bytes()
    try:
        return data.decode("utf-8-sig"), where
    except UnicodeDecodeError as error:
        raise _corrupt(where, f"not UTF-8 at byte {error.start}") from error


def _parsed(text: str, where: str) -> dict[str, Any]:
    try:
        document = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise _corrupt(where, f"not JSON at line {error.lineno}, column {error.colno}: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise _corrupt(where, f"not JSON ({error})") from error
    if not isinstance(document, dict) or document.get("format") != ARCHIVE_FORMAT:
        raise _corrupt(where, f'it does not say "format": "{ARCHIVE_FORMAT}"')
    _check_version(document.get("v"), ARCHIVE_VERSION, where)
    wrong = [name for name, kind in _FIELDS.items() if not isinstance(document.get(name), kind)]
    wrong += [name for name in _MAPS if not _is_list_of_maps(document.get(name, []))]
    if wrong:
        raise _corrupt(where, f"missing or of a wrong type: {', '.join(wrong)}")
    return document


def _is_list_of_maps(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)


def _check_version(version: object, supported: int, where: str) -> None:
    if isinstance(version, int) and version > supported:
        raise FutureVersionError(_WHAT, where=where, found=version, supported=supported)
    if version != supported:
        raise _corrupt(where, f"version {version!r:.40} was never written")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _corrupt(where: str, reason: str) -> CorruptRecordError:
    return CorruptRecordError(
        _WHAT,
        where=where,
        reason=reason,
        fix="Nothing was imported. Use another copy of the archive, or write it again.",
    )


def _turn_to_json(turn: StoredTurn) -> dict[str, Any]:
    media = [use for part in (*turn.pages, turn.record) for use in part["media"]]
    whole = {**turn.record, "messages": turn.entries, "media": media}
    whole.pop("pages", None)
    binary: list[list[Any]] = []
    plain: dict[str, Any] = _lift(turn_to_json(cast(TurnRecord, whole)), (), binary)
    return {**plain, "binary": binary} if binary else plain


def _turn_from_json(value: object, where: str) -> StoredTurn:
    """Read a turn and lay its messages out in pages again."""
    if isinstance(value, dict) and "binary" in value:
        binary = value["binary"]
        value = {key: part for key, part in value.items() if key != "binary"}
        _put_back(value, binary, where)
    whole = _storable(turn_from_json(value, where=where), where)
    entries = whole["messages"]
    if whole["count"] != len(entries):
        raise _corrupt(where, f"turn {whole['turn']} counts {whole['count']} messages and lists {len(entries)}")
    count = max(len(entries) - 1, 0) // PAGE_MESSAGES
    pages = tuple(_page(whole, number) for number in range(count))
    if not pages:
        return StoredTurn(whole)
    at = count * PAGE_MESSAGES
    media = [use for use in whole["media"] if use["message"] >= at]
    record = cast(TurnRecord, {**whole, "messages": entries[at:], "media": media, "pages": count})
    return StoredTurn(record, pages)


def _storable(whole: TurnRecord, where: str) -> TurnRecord:
    try:
        dump_turn(whole)
    except (ValueError, TypeError, OverflowError) as error:
        raise _corrupt(where, f"turn {whole['turn']} holds what no server can keep ({error!r:.80})") from error
    return whole


def _page(whole: TurnRecord, number: int) -> TurnPage:
    at = number * PAGE_MESSAGES
    return TurnPage(
        v=TURN_VERSION,
        turn=whole["turn"],
        page=number,
        messages=whole["messages"][at : at + PAGE_MESSAGES],
        media=[use for use in whole["media"] if at <= use["message"] < at + PAGE_MESSAGES],
    )


def _message_to_json(ref: bytes, envelope: MessageEnvelope) -> dict[str, Any]:
    published = {key: value for key, value in envelope.items() if key != "raw_content"}
    published["content"] = [
        {key: block[key] for key in block if key != "raw"} for block in map(dict, envelope["content"])
    ]
    binary: list[list[Any]] = []
    plain = _lift(published, (), binary)
    return {"ref": ref.hex(), "envelope": plain, **({"binary": binary} if binary else {})}


def _message_from_json(value: Any, where: str) -> tuple[bytes, MessageEnvelope]:
    try:
        ref, envelope, binary = bytes.fromhex(value["ref"]), {**value["envelope"]}, value.get("binary", [])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _corrupt(where, f"a message is malformed ({error!r:.80})") from error
    _put_back(envelope, binary, where)
    _check_version(envelope.get("v"), ENVELOPE_VERSION, where)
    if wrong := problems_of(envelope):
        raise _corrupt(
            where, f"a message is malformed: {ref.hex()} lacks or has of a wrong type {', '.join(wrong)}"[:400]
        )
    return ref, cast(MessageEnvelope, envelope)


def _decoded(encoded: str) -> Any:
    data = base64.b64decode(encoded, validate=True)
    return msgpack.unpackb(data, strict_map_key=False, unicode_errors="surrogatepass")


def _lift(value: Any, path: tuple[str | int, ...], binary: list[list[Any]]) -> Any:
    """Return the value as JSON; what JSON cannot say goes to `binary` with its path, and null stands in for it."""
    if value is None or isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _lift(part, (*path, key), binary) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_lift(part, (*path, at), binary) for at, part in enumerate(value)]
    packed = msgpack.packb(value, unicode_errors="surrogatepass")
    binary.append([list(path), base64.b64encode(packed).decode("ascii")])
    return None


def _put_back(whole: dict[str, Any], binary: Any, where: str) -> None:
    """Set what was lifted at its paths. They only lead through what is there, and only to nulls."""
    try:
        for path, encoded in binary:
            holder: Any = whole
            for step in path[:-1]:
                holder = holder[step]
            if not path or holder[path[-1]] is not None:
                raise ValueError("it has no place")
            holder[path[-1]] = _decoded(encoded)
    except (KeyError, TypeError, ValueError, IndexError, msgpack.UnpackException) as error:
        raise _corrupt(where, f"a binary value is malformed ({error!r:.80})") from error


def named_media(blocks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the digests of media that stand elsewhere in an archive."""
    for block in blocks:
        about = block.get("media") if block.get("base64") == "" else None
        digest = about.get("sha256") if isinstance(about, dict) else None
        if isinstance(digest, str):
            yield digest


def _absent_media(
    messages: Iterable[MessageEnvelope], media: Sequence[ArchivedMedia], lost: Sequence[Mapping[str, Any]]
) -> set[str]:
    """Return what messages name and the archive neither has nor tells as lost."""
    told = [one.get(key) for one in lost if isinstance(one, dict) for key in ("sha256", "medium")]
    known = {*(blob.sha256 for blob in media), *(digest for digest in told if isinstance(digest, str))}
    return {digest for envelope in messages for digest in named_media(envelope["content"])} - known


def _media_to_json(blob: ArchivedMedia) -> dict[str, Any]:
    about: dict[str, Any] = {"sha256": blob.sha256, "mime_type": blob.mime_type, "size_bytes": blob.size_bytes}
    if blob.data is not None:
        return {**about, "base64": base64.b64encode(blob.data).decode("ascii")}
    return {**about, "store": blob.store, "ref": blob.ref}


def _media_from_json(value: Any, where: str) -> ArchivedMedia:
    try:
        encoded = value.get("base64")
        data = None if encoded is None else base64.b64decode(encoded, validate=True)
        blob = ArchivedMedia(
            value["sha256"], value.get("mime_type"), value["size_bytes"], data, value.get("store"), value.get("ref")
        )
    except (KeyError, TypeError, ValueError, AttributeError, binascii.Error) as error:
        raise _corrupt(where, f"a media entry is malformed ({error!r:.80})") from error
    texts = (blob.sha256, *(one for one in (blob.mime_type, blob.store, blob.ref) if one is not None))
    if type(blob.size_bytes) is not int or not all(isinstance(text, str) for text in texts):
        raise _corrupt(where, "a media entry is malformed: a digest, type, size or place is of a wrong type")
    if data is not None and (hashlib.sha256(data).hexdigest() != blob.sha256 or len(data) != blob.size_bytes):
        raise _corrupt(where, f"the bytes of media {blob.sha256!r:.80} are not those that its digest names")
    return blob


def _write_atomically(path: Path, text: str) -> None:
    """Write a file whole or not at all: it is the owner's alone, or has the mode of the file it replaces."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            temporary.chmod(path.stat().st_mode & 0o777)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
