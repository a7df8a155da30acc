"""Provider uploads that expire: find them in a conversation, upload what is dead again, rewrite what names it.

Owns the order of checks and the rewriting. Knows no provider and no clock: `refresh_program` is a generator that
yields frozen steps and is sent the answers; `refresh_uploads` and `arefresh_uploads` run it.

The order is cheapest first: a recorded expiry decides alone; a URI without one is asked for once; only what is dead
is fetched and uploaded. A URI that is bound to another account is dead. Where another upload of the same bytes still
lives, it is taken instead. Where bytes were kept and cannot be had, the URI stays, dead as it is: that they cannot be
had now is no proof that nobody has them, and a later refresh can still renew it.

Source: https://ai.google.dev/gemini-api/docs/files (2026-11): files are kept for 48 hours, and only the project of the
key that uploaded them can use them.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from langchain_core.messages import BaseMessage

from langgraph_portable_checkpoint.envelope.media_types import OCTET_STREAM
from langgraph_portable_checkpoint.errors import InvalidUploadError, MediaError
from langgraph_portable_checkpoint.media.holes import Path
from langgraph_portable_checkpoint.media.hooks import NO_HOOKS, MediaHooks, tell
from langgraph_portable_checkpoint.media.policy import MediaPolicy, expired_text
from langgraph_portable_checkpoint.media.references import Reference
from langgraph_portable_checkpoint.media.table import MediaRecord, MediaReport, MediaTable, Upload, failure_report
from langgraph_portable_checkpoint.media.upload_checks import (
    answered_check,
    answered_upload,
    checked_callable,
    checked_text,
    checked_time,
    refuse_awaitable,
)
from langgraph_portable_checkpoint.media.upload_references import (
    FIELDS,
    fields_of,
    messages_in,
    own_uploads,
    uploads_in,
)
from langgraph_portable_checkpoint.media.walk import replace_at

DEFAULT_MARGIN: Final = timedelta(minutes=5)
"""What expires this soon counts as dead: the turn takes time too."""


@dataclass(frozen=True, slots=True)
class CheckUpload:
    """Ask the provider whether a URI still works. Answer: bool."""

    upload: Upload


@dataclass(frozen=True, slots=True)
class FetchBytes:
    """Fetch a medium from its store. Answer: bytes, or the MediaError that says why they cannot be had now."""

    record: MediaRecord


@dataclass(frozen=True, slots=True)
class UploadAgain:
    """Upload bytes. Answer: Upload, or the new URI."""

    data: bytes
    record: MediaRecord


Step = CheckUpload | FetchBytes | UploadAgain


class Refreshed(NamedTuple):
    """What a refresh came to."""

    values: tuple[Any, ...]
    """The messages, or whatever was given; the very same object where nothing changed."""
    changed: tuple[int, ...]
    """Positions of the values that were rewritten."""
    records: tuple[MediaRecord, ...]
    """Records of the media table that are new."""
    reports: tuple[MediaReport, ...]
    """expired_reuploaded and expired_no_bytes, one per part that was rewritten, or whose new upload has the old URI;
    missing_blob and corrupt_blob, with the cause in `detail`, one per part that was left as it is because its bytes
    cannot be had now."""
    successors: Mapping[str, Upload | None] = MappingProxyType({})
    """URI that is dead -> what takes its place; None: a text. Those that were left are not here."""


@dataclass(slots=True)
class _Refresh:
    """The state of one refresh: what is known of each URI so far."""

    table: MediaTable
    now: datetime
    margin: timedelta
    account: str | None
    recheck: bool
    made: list[MediaRecord]
    """Records of new uploads, for the caller as well."""
    fates: dict[str, Upload | MediaError | None] = field(default_factory=dict)
    """URI -> its living successor (itself when it lives), None when nobody has its bytes, or why they cannot be had."""
    records: dict[str, MediaRecord] = field(default_factory=dict)

    def renewed(self, uri: str) -> bool:
        """Tell whether a new upload was made in this refresh under a URI."""
        return any(record.uploads[-1].uri == uri for record in self.records.values())

    def successors(self) -> dict[str, Upload | None]:
        """Say what takes the place of the URIs that are dead."""
        return {
            uri: fate
            for uri, fate in self.fates.items()
            if fate is None or (isinstance(fate, Upload) and fate.uri != uri)
        }


class Renewal:
    """Puts what is alive in the place of URIs that are dead, in values that may lack their media."""

    def __init__(self, successors: Mapping[str, Upload | None], table: MediaTable) -> None:
        self._successors = successors
        self._table = table

    def value(self, value: Any) -> Any:
        """Renew a message or another value, with the messages in it; the very same object where nothing changes."""
        if not isinstance(value, BaseMessage):
            return replace_at(value, self._changes(value))
        fields = fields_of(value)
        changes = self._changes(fields)
        renewed = replace_at(fields, changes)
        return value.model_copy(update={str(path[0]): renewed[path[0]] for path in changes}) if changes else value

    def fields(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """Renew the fields of a message; the very same object where nothing changes."""
        looked_at = {name: fields[name] for name in FIELDS if name in fields}
        changes = self._changes(looked_at)
        return {**fields, **replace_at(looked_at, changes)} if changes else fields

    def _changes(self, value: Any) -> dict[Path, Callable[[Any], Any]]:
        dead = (found for found in own_uploads(value, self._table) if found.uri in self._successors)
        changes = dict(_change(found, self._successors[found.uri], self._table) for found in dead)
        for path, message in messages_in(value):
            renewed = self.value(message)
            if renewed is not message:
                changes[path] = partial(_instead, renewed)
        return changes


def refresh_program(
    values: Sequence[Any],
    table: MediaTable,
    *,
    now: datetime,
    account: str | None = None,
    recheck: bool = False,
    margin: timedelta = DEFAULT_MARGIN,
    turns: Sequence[int | None] = (),
    made: list[MediaRecord] | None = None,
) -> Generator[Step, Any, Refreshed]:
    """Refresh the uploads that some messages name.

    Args:
        values: Messages, message envelopes, or other plain values.
        table: The thread's media table. It is not changed.
        now: Aware.
        account: The account that the next request uses; uploads known to be bound to another one are dead.
        recheck: Ask for every URI whatever is recorded: for the retry after a request that failed naming a file.
        margin: How long a URI must still live.
        turns: The turn of each value, for the report.
        made: Is given the record of each new upload at once, so that none is forgotten if a later one fails.

    Raises:
        InvalidUploadError: an answer is none, or `now` names no time zone.
    """
    begun = checked_time("now", now)
    if begun is None:
        raise InvalidUploadError("now", now, fix="Pass datetime.now(UTC).")
    refresh = _Refresh(table, begun, margin, checked_text("account", account), recheck, [] if made is None else made)
    touched: list[int] = []
    reports: list[MediaReport] = []
    for position, value in enumerate(values):
        for found in uploads_in(value, table):
            if found.uri not in refresh.fates:
                refresh.fates[found.uri] = yield from _fate(refresh, found)
            fate = refresh.fates[found.uri]
            stays = isinstance(fate, Upload) and fate.uri == found.uri
            if stays and not refresh.renewed(found.uri):
                continue
            if not stays and not isinstance(fate, MediaError) and position not in touched[-1:]:
                touched.append(position)
            turn = turns[position] if position < len(turns) else None
            reports.append(_report(found, fate, table, message=_name(value, position), turn=turn))
    successors = refresh.successors()
    renewal = Renewal(successors, table)
    fresh = [renewal.value(value) if position in touched else value for position, value in enumerate(values)]
    return Refreshed(tuple(fresh), tuple(touched), tuple(refresh.records.values()), tuple(reports), successors)


def refresh_uploads(
    values: Sequence[Any],
    table: MediaTable,
    *,
    now: datetime,
    fetch: Callable[[MediaRecord], bytes | MediaError],
    upload: Callable[[bytes, MediaRecord], Upload | str],
    check: Callable[[Upload], bool] | None = None,
    hooks: MediaHooks = NO_HOOKS,
    **options: Any,
) -> Refreshed:
    """Run `refresh_program` with blocking callables; `options` are its own.

    Args:
        values: See `refresh_program`.
        table: See `refresh_program`.
        now: See `refresh_program`.
        fetch: Gives a medium's bytes, or the MediaError that says why they cannot be had now.
        upload: Uploads them and returns the URI, or an Upload that also says when it expires; `account` and the time
            of an Upload that has none are those of the refresh. What it raises passes through, and nothing is
            rewritten; the same goes for `check`.
        check: Says whether a URI still works; without it, one of unknown expiry is taken to work.
        hooks: `on_expired` hears of every part that was rewritten, `on_missing` of every one that was left.
        **options: See `refresh_program`.
    """
    program = refresh_program(values, table, now=now, **options)
    answers = _answers(fetch, upload, check)
    answer: Any = None
    while True:
        try:
            step = program.send(answer)
        except StopIteration as done:
            return _announced(done.value, hooks)
        name, ask = answers[type(step)]
        answer = ask(step)
        refuse_awaitable(name, answer)


async def arefresh_uploads(
    values: Sequence[Any],
    table: MediaTable,
    *,
    now: datetime,
    fetch: Callable[[MediaRecord], bytes | MediaError | Awaitable[bytes | MediaError]],
    upload: Callable[[bytes, MediaRecord], Upload | str | Awaitable[Upload | str]],
    check: Callable[[Upload], bool | Awaitable[bool]] | None = None,
    hooks: MediaHooks = NO_HOOKS,
    **options: Any,
) -> Refreshed:
    """Run `refresh_program` with callables that may be awaited; see `refresh_uploads`."""
    program = refresh_program(values, table, now=now, **options)
    answers = _answers(fetch, upload, check)
    answer: Any = None
    while True:
        try:
            step = program.send(answer)
        except StopIteration as done:
            return _announced(done.value, hooks)
        answer = answers[type(step)][1](step)
        if inspect.isawaitable(answer):
            answer = await answer


class UploadPlan(NamedTuple):
    """What to remember of an upload that a host has made."""

    record: MediaRecord
    keep_bytes: bool
    """Whether the bytes are to be stored, so that they can be uploaded again."""
    report: MediaReport | None
    """over_inline_threshold or stripped, when they are not: the part will be lost when the upload expires."""


def strips(policy: MediaPolicy, size_bytes: int | None, mime_type: str | None) -> bool:
    """Tell whether a policy lets no bytes of a medium be kept."""
    return policy.decide(size_bytes or 0, mime_type or OCTET_STREAM) == "strip"


def plan_upload(
    table: MediaTable, upload: Upload, *, policy: MediaPolicy, external: bool, sha256: str | None = None,
    mime_type: str | None = None, size_bytes: int | None = None, turn: int | None = None,
) -> UploadPlan:  # fmt: skip
    """Plan the record of an upload, and whether its bytes are kept.

    Args:
        table: The thread's media table. It is not changed.
        upload: What the provider gave.
        policy: `max_inline_bytes` bounds what is kept in the thread itself.
        external: Whether the saver has a media store of its own beside Redis: then bytes of any size are kept.
        sha256: Of the bytes, in hex; None when the host has only the URI.
        mime_type: Of the medium.
        size_bytes: Of the medium.
        turn: The turn that brought it in.
    """
    named = table.by_uri(upload.uri)
    unseen = named if named is not None and None in (sha256, named.sha256) else None
    record = (table.by_digest(sha256) if sha256 else None) or unseen or MediaRecord(first_turn=turn)
    record = replace(
        record,
        sha256=record.sha256 or sha256,
        mime_type=record.mime_type or mime_type,
        size_bytes=size_bytes if record.size_bytes is None else record.size_bytes,
    ).with_upload(upload)
    reason: Literal["stripped", "over_inline_threshold"] | None = None
    limit = policy.max_inline_bytes
    if sha256 is not None and strips(policy, size_bytes, mime_type):
        reason = "stripped"
    elif (
        sha256 is not None and record.store is None and not external and limit is not None and (size_bytes or 0) > limit
    ):
        reason = "over_inline_threshold"
    if reason is None:
        return UploadPlan(record, sha256 is not None and record.store is None, None)
    report = MediaReport(
        reason=reason, mime_type=mime_type, size_bytes=size_bytes, turn=turn, sha256=sha256, uri=upload.uri,
        expires_at=upload.expires_at,
    )  # fmt: skip
    return UploadPlan(record, False, report)


def _answers(fetch: Any, upload: Any, check: Any) -> Mapping[type, tuple[str, Callable[[Any], Any]]]:
    """Say what answers each step, under the name that callers know it by."""
    checked_callable("upload", upload)
    if check is not None:
        checked_callable("check", check)
    return {
        CheckUpload: ("check", lambda step: True if check is None else check(step.upload)),
        FetchBytes: ("fetch", lambda step: fetch(step.record)),
        UploadAgain: ("upload", lambda step: upload(step.data, step.record)),
    }


def _announced(refreshed: Refreshed, hooks: MediaHooks) -> Refreshed:
    for report in refreshed.reports:
        hear = hooks.on_expired if report.reason.startswith("expired") else hooks.on_missing
        if hear is not None:
            tell(hear, report)
    return refreshed


def _instead(renewed: Any, _: Any) -> Any:
    return renewed


def _fate(refresh: _Refresh, found: Reference) -> Generator[Step, Any, Upload | MediaError | None]:
    """Find out what a URI's place is to hold: the URI itself, another one, or nothing; or why that cannot be known."""
    record = refresh.table.by_uri(found.uri) or MediaRecord(
        mime_type=found.mime_type, size_bytes=found.size_bytes, uploads=(Upload(uri=found.uri),)
    )
    named = record.upload(found.uri) or Upload(uri=found.uri)
    for upload in (named, *(other for other in reversed(record.uploads) if other is not named)):
        if (yield from _lives(refresh, upload)):
            return upload
    if record.sha256 is None or record.store is None:
        return None
    done = refresh.records.get(record.sha256)
    if done is not None:
        return done.uploads[-1]
    data = yield FetchBytes(record)
    if isinstance(data, MediaError):
        return data
    answer = yield UploadAgain(data, record)
    fresh = answered_upload(answer, lambda uri: Upload(uri=uri))
    if fresh.expires_at is not None and fresh.expires_at <= refresh.now:
        raise InvalidUploadError(
            "the answer of upload=: expires_at", fresh.expires_at, fix="Return an upload that lives, or its URI alone."
        )
    fresh = replace(fresh, account=fresh.account or refresh.account, uploaded_at=fresh.uploaded_at or refresh.now)
    refresh.records[record.sha256] = record.with_upload(fresh)
    refresh.made.append(refresh.records[record.sha256])
    return fresh


def _lives(refresh: _Refresh, upload: Upload) -> Generator[Step, Any, bool]:
    foreign = None not in (refresh.account, upload.account) and refresh.account != upload.account
    if foreign or (upload.expires_at is not None and upload.expires_at <= refresh.now + refresh.margin):
        return False
    if upload.expires_at is not None and not refresh.recheck:
        return True
    return answered_check((yield CheckUpload(upload)))


def _change(found: Reference, successor: Upload | None, table: MediaTable) -> tuple[Path, Callable[[Any], Any]]:
    if successor is not None:
        uri = successor.uri
        return found.path, lambda _: uri
    record = table.by_uri(found.uri) or MediaRecord(size_bytes=found.size_bytes)
    text = expired_text(found.mime_type or record.mime_type, record.size_bytes)
    return found.removal(text)


def _report(
    found: Reference, fate: Upload | MediaError | None, table: MediaTable, *, message: str | int, turn: int | None
) -> MediaReport:
    record = table.by_uri(found.uri)
    named = record.upload(found.uri) if record else None
    facts: dict[str, Any] = {
        "mime_type": found.mime_type or (record.mime_type if record else None),
        "size_bytes": record.size_bytes if record else found.size_bytes,
        "message": message,
        "turn": turn,
        "sha256": record.sha256 if record else None,
        "uri": found.uri,
        "expires_at": named.expires_at if named else None,
    }
    if isinstance(fate, MediaError):
        return failure_report(fate, **facts)
    if fate is None:
        return MediaReport(reason="expired_no_bytes", **facts)
    return MediaReport(reason="expired_reuploaded", new_uri=fate.uri, **facts)


def _name(value: Any, position: int) -> str | int:
    name = value.id if isinstance(value, BaseMessage) else value.get("id") if isinstance(value, dict) else None
    return name if isinstance(name, str) else position
