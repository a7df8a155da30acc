"""Turn records as bytes: msgpack in Redis, plain JSON values in archives.

Knows the wire types only. Loading checks version and shape before anything is believed; fields that this version does
not know are kept and written back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

import msgpack

from langgraph_portable_checkpoint.envelope.turn_model import PAGE_MESSAGES, TURN_VERSION, TurnPage, TurnRecord
from langgraph_portable_checkpoint.envelope.turns import PHASES, STATUSES
from langgraph_portable_checkpoint.errors import CorruptRecordError, FutureVersionError

Check = Callable[[Any], bool]


def dump_turn(record: TurnRecord) -> bytes:
    """Return a turn's record as msgpack: text as str, refs as bin, no extension types."""
    return msgpack.packb(record, unicode_errors="surrogatepass")


def dump_page(page: TurnPage) -> bytes:
    """Return a page of a turn as msgpack."""
    return msgpack.packb(page, unicode_errors="surrogatepass")


def load_turn(data: bytes, *, where: str) -> TurnRecord:
    """Read a turn's record.

    Args:
        data: What `dump_turn`, or another writer of the format, made.
        where: Names the record in errors, as "turn 3 of thread 't1'".

    Raises:
        FutureVersionError: A newer version of the format wrote it.
        CorruptRecordError: It is truncated, altered or something else; all problems are listed.
    """
    return check_turn(_unpack(data, "turn envelope", where), where=where)


def load_page(data: bytes, *, where: str) -> TurnPage:
    """Read a page of a turn. Raises as `load_turn` does."""
    page = _checked(_unpack(data, "turn page", where), _PAGE_FIELDS, {}, "turn page", where)
    return cast(TurnPage, page)


def check_turn(value: object, *, where: str) -> TurnRecord:
    """Return the value as a turn's record if it is one. Raises as `load_turn` does."""
    return cast(TurnRecord, _checked(value, _FIELDS, _OPTIONAL_FIELDS, "turn envelope", where))


def turn_to_json(record: TurnRecord | TurnPage) -> dict[str, Any]:
    """Return a record or page as JSON values: the refs of its messages in hex, all else unchanged."""
    return {**record, "messages": [[entry[0].hex(), *entry[1:]] for entry in record["messages"]]}


def turn_from_json(value: object, *, where: str) -> TurnRecord:
    """Read back what `turn_to_json` made of a record. Raises as `load_turn` does."""
    if isinstance(value, Mapping) and isinstance(value.get("messages"), list):
        try:
            refs = [[bytes.fromhex(entry[0]), *entry[1:]] for entry in value["messages"]]
        except (TypeError, ValueError, IndexError, KeyError) as error:
            raise CorruptRecordError("turn envelope", where=where, reason="messages are not [hex, id] pairs") from error
        value = {**value, "messages": refs}
    return check_turn(value, where=where)


def _unpack(data: bytes, what: str, where: str) -> object:
    try:
        return msgpack.unpackb(data, unicode_errors="surrogatepass", strict_map_key=True)
    except (ValueError, TypeError, msgpack.UnpackException, RecursionError) as error:
        raise CorruptRecordError(what, where=where, reason=f"not msgpack ({type(error).__name__})") from error


def _checked(
    value: object, required: Mapping[str, Check], optional: Mapping[str, Check], what: str, where: str
) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise CorruptRecordError(what, where=where, reason=f"a {type(value).__name__} stands where a map should")
    version = value.get("v")
    if type(version) is int and version > TURN_VERSION:
        raise FutureVersionError(what, where=where, found=version, supported=TURN_VERSION)
    problems = [name for name, check in required.items() if name not in value or not check(value[name])]
    problems += [name for name, check in optional.items() if name in value and not check(value[name])]
    if problems:
        raise CorruptRecordError(what, where=where, reason=f"missing or of a wrong type: {', '.join(problems)}")
    return value


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_map(value: object) -> bool:
    return isinstance(value, dict)


def _is_entry(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) >= 2
        and isinstance(value[0], bytes)
        and (value[1] is None or isinstance(value[1], str))
    )


def _list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _is_use(value: Any) -> bool:
    return (
        isinstance(value, dict) and _is_number(value.get("requests")) and {"provider", "model", "usage"} <= set(value)
    )


def _is_media(value: Any) -> bool:
    return isinstance(value, dict) and _is_number(value.get("message"))


def _is_error(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_text(value.get(name)) for name in ("type", "message", "failed_at"))


def _is_page_of_entries(value: Any) -> bool:
    return _list_of(_is_entry)(value) and len(value) == PAGE_MESSAGES


_FIELDS: Final[Mapping[str, Check]] = {
    "v": lambda value: type(value) is int and value == TURN_VERSION,
    "thread_id": _is_text,
    "turn": _is_number,
    "status": STATUSES.__contains__,
    "phase": PHASES.__contains__,
    "started_at": _is_text,
    "updated_at": _is_text,
    "count": _is_number,
    "messages": _list_of(_is_entry),
    "question": _list_of(_is_number),
    "models": _list_of(_is_use),
    "usage": _is_map,
    "media": _list_of(_is_media),
    "run_ids": _list_of(_is_text),
    "error": lambda value: value is None or _is_error(value),
    "interrupts": _list_of(_is_map),
    "checkpoint": _is_map,
    "framework": _is_map,
    "writer": _is_map,
}
_OPTIONAL_FIELDS: Final[Mapping[str, Check]] = {
    "pages": _is_number,
    "cost": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "media_total": lambda value: isinstance(value, dict) and all(map(_is_number, value.values())),
    "past_errors": _list_of(_is_error),
    "open_calls": _list_of(lambda value: value is None or isinstance(value, str)),
    "response_id": _is_text,
    "channel": _is_text,
}
_PAGE_FIELDS: Final[Mapping[str, Check]] = {
    "v": lambda value: type(value) is int and value == TURN_VERSION,
    "turn": _is_number,
    "page": _is_number,
    "messages": _is_page_of_entries,
    "media": _list_of(_is_media),
}
