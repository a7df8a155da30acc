"""What callers give as an upload, and what their callables answer: checked before anything of it is stored.

A record that cannot be read back would take the thread's whole media table along.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from langgraph_portable_checkpoint.errors import InvalidUploadError
from langgraph_portable_checkpoint.media.table import Upload, utc

_AWARE: Final = (
    "Pass a datetime with a time zone, such as datetime.now(UTC) + timedelta(hours=48), or None where it is not known."
)
_TEXT: Final = "Pass text that UTF-8 can spell, or None where it is not known."
_URI: Final = "Pass what messages name the file by, as text that UTF-8 can spell."
_ANSWER: Final = "Return the new URI as text, or an Upload(uri=..., expires_at=...)."


def checked_upload(upload: Upload, *, of: str = "") -> Upload:
    """Return an upload if its record can be read back.

    Args:
        upload: As given or answered.
        of: Starts the names of its fields in errors.

    Raises:
        InvalidUploadError: names the field.
    """
    checked_uri(upload.uri, field=f"{of}uri")
    for name in ("provider", "account"):
        checked_text(f"{of}{name}", getattr(upload, name))
    for name in ("uploaded_at", "expires_at"):
        checked_time(f"{of}{name}", getattr(upload, name))
    _check_extras(f"{of}extras", upload.extras)
    return upload


def checked_uri(uri: object, *, field: str = "uri") -> str:
    """Return what messages may name a file by; raises as `checked_upload`."""
    if not isinstance(uri, str) or not uri.strip() or not _is_text(uri):
        raise InvalidUploadError(field, uri, fix=_URI)
    return uri


def checked_text(field: str, value: object) -> str | None:
    """Return a text or None; raises as `checked_upload`."""
    if value is None or (isinstance(value, str) and _is_text(value)):
        return value
    raise InvalidUploadError(field, value, fix=_TEXT)


def checked_time(field: str, value: object) -> datetime | None:
    """Return a moment or None; raises as `checked_upload`."""
    if value is None:
        return None
    if not isinstance(value, datetime):
        raise InvalidUploadError(field, value, fix=_AWARE)
    try:
        return utc(value)
    except (ValueError, OverflowError) as wrong:
        raise InvalidUploadError(field, value, fix=_AWARE) from wrong


def checked_bytes(data: object) -> bytes | None:
    """Return bytes, of whatever buffer they were given in, or None; raises as `checked_upload`."""
    if data is None or isinstance(data, bytes):
        return data
    if isinstance(data, (bytearray, memoryview)):
        return bytes(data)
    raise InvalidUploadError("data", type(data), fix="Pass the file's bytes, or None where they are not known.")


def checked_callable(name: str, given: object) -> None:
    """Refuse what cannot be called; raises as `checked_upload`."""
    if not callable(given):
        raise InvalidUploadError(name, given, fix="Pass a function.")


def answered_upload(answer: object, make: Callable[[str], Upload]) -> Upload:
    """Return the upload that `upload=` answered; raises as `checked_upload`.

    Args:
        answer: An Upload, or a URI.
        make: Makes an upload of a URI.
    """
    if isinstance(answer, str):
        answer = make(answer)
    if not isinstance(answer, Upload):
        raise InvalidUploadError("the answer of upload=", answer, fix=_ANSWER)
    return checked_upload(answer, of="the answer of upload=: ")


def answered_check(answer: object) -> bool:
    """Return whether `check=` found an upload alive; raises as `checked_upload`."""
    if not isinstance(answer, bool):
        fix = "Return True where the URI still works, False where it does not; raise where that cannot be found out."
        raise InvalidUploadError("the answer of check=", answer, fix=fix)
    return answer


def refuse_awaitable(name: str, answer: object) -> None:
    """Refuse what a blocking call cannot await; raises as `checked_upload`."""
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        fix = "It has to be awaited: call arefresh_uploads, or pass a function that is not a coroutine function."
        raise InvalidUploadError(f"the answer of {name}=", answer, fix=fix)


def _check_extras(field: str, extras: Any) -> None:
    try:
        named = all(isinstance(name, str) for name in extras)
        json.dumps(dict(extras))
    except (TypeError, ValueError, RecursionError):
        named = False
    if not named:
        raise InvalidUploadError(field, extras, fix="Pass a map with names and plain values, or leave it out.")


def _is_text(value: str) -> bool:
    return value.isascii() or not any("\ud800" <= char <= "\udfff" for char in value)
