"""The entries: export a list of messages, import a provider's history, lint one.

The only file of the dialects that meets LangChain's messages, through `envelope.read` and `envelope.write`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, cast

from langchain_core.messages import BaseMessage

from ..envelope.model import MessageEnvelope, Origin
from ..envelope.read import read_message, read_plain
from ..errors import DialectError, IncompatibleHistoryError, LossyExportError, MalformedHistoryError
from .arguments import tell_invalid
from .base import Dialect, ExportOptions, Finding, ImportOptions
from .concerns import UNREAD_MEDIUM
from .history_keys import settings_of
from .jsonl import mend_surrogates
from .normalise import normalise, nothing_left
from .partial_histories import tell_partial
from .read_types import check_types
from .registry import get_dialect, recognise
from .report import Export, Imported, Placed, Report
from .responses_read import lift_items
from .selection import check_turns, place, token_budget, turn_count, turn_range
from .source_text import read_payload
from .unknown_parts import tell_unknown

_KNOW_INVALID_CALLS: Final = frozenset({"langchain", "otel"})
"""Dialects in which a call may be marked as invalid."""
_OPTIONS: Final = frozenset(field.name for field in fields(ExportOptions))
_SELECTING: Final = ("turns", "max_tokens", "count_tokens")
"""Parameters of an export that choose messages."""


def export_messages(
    messages: Iterable[BaseMessage | MessageEnvelope],
    to: str,
    *,
    turns: int | tuple[int, int | None] | None = None,
    max_tokens: int | None = None,
    count_tokens: Callable[[Sequence[MessageEnvelope]], int] | None = None,
    **options: Any,
) -> Export:
    """Write messages as a history that a provider accepts on the first request.

    Args:
        messages: LangChain messages or message envelopes, in order.
        to: Name of the dialect, for example "anthropic".
        turns: The last N turns, or a range of turns (start, stop); None for all. Leading system messages stay.
        max_tokens: Keep only as many of the last turns as fit, whole turns only; needs `count_tokens`.
        count_tokens: Counts the tokens of some envelopes.
        **options: Fields of `ExportOptions`: model, profile, incomplete, reasoning, strict, ...

    Raises:
        UnknownDialectError: There is no dialect `to`.
        IncompatibleHistoryError: The history cannot be converted; says at which turn and what to do.
        UnsupportedPartError: A part cannot be exported and `on_unsupported_part` is "raise".
        LossyExportError: `strict` and there are losses; carries all.
        ValueError: `turns` or `max_tokens` is negative.

    >>> from langchain_core.messages import HumanMessage
    >>> export_messages([HumanMessage("hi")], "openai-chat").payload
    {'messages': [{'role': 'user', 'content': 'hi'}]}
    """
    known = _options(options, *_SELECTING)
    broken: list[int] = []
    placed = place(read_messages(messages, broken))
    chosen = _select(placed, turns=turns, max_tokens=max_tokens, count_tokens=count_tokens)
    if len(chosen) < len(placed):
        known = replace(known, prefix_intact=False)
    return export_placed(chosen, get_dialect(to), options=known, mended=frozenset(broken))


def export_placed(
    conversation: Sequence[Placed], dialect: Dialect, *, options: ExportOptions, mended: Collection[int] = ()
) -> Export:
    """Write a placed conversation; `export_messages` without reading and selection.

    Args:
        conversation: Messages with their places.
        dialect: What to write.
        options: How to write it.
        mended: Indices of messages whose lone surrogates became U+FFFD as they were read.
    """
    _check_profile(dialect, options.profile)
    if not dialect.writes:
        raise DialectError(f"{dialect.name} can only be imported")
    report = Report(target=dialect.name)
    target = dialect.target(options)
    for placed in [placed for placed in conversation if placed.index in mended] if mended else ():
        report.add(target.rule("broken_text"), "downgraded", at=placed, action="lone surrogates became U+FFFD")
    unread = options.unread_media and _tell_unread(conversation, options, report, neutral=target.media is None)
    asked = replace(options, prefix_intact=False) if mended or unread else options
    fit = normalise(conversation, target, options=asked, report=report)
    payload = dialect.render(fit.conversation, options, report)
    if not target.keeps_empty and all(value == [] for value in payload.values()):
        raise nothing_left(conversation)
    if options.strict and report.losses:
        raise LossyExportError(report.losses)
    return Export(payload=payload, report=report.losses, target=dialect.name, pending=fit.pending)


def _tell_unread(conversation: Sequence[Placed], options: ExportOptions, report: Report, *, neutral: bool) -> bool:
    """Report media that stand elsewhere than in parts and were not read; say whether there are any.

    What a tool gave beside its content goes to neutral dialects alone.
    """
    found = [(placed, one) for placed in conversation for one in options.unread_media.get(placed.index or 0, ())]
    found = [(placed, one) for placed, one in found if neutral or one.path != "artifact"]
    for placed, (path, detail) in found:
        action = "a medium that was not read is not there, or a text in its place"
        report.add(UNREAD_MEDIUM.rule, UNREAD_MEDIUM.kind, action=action, at=placed, path=path, detail=detail)
    return bool(found)


def import_messages(
    payload: Any,
    from_: str = "auto",
    *,
    profile: str | None = None,
    model: str | None = None,
    account: str | None = None,
) -> Imported:
    """Read a provider's history.

    Args:
        payload: JSON as Python objects, those of the providers' SDKs too, text or bytes; for dialects of line-delimited
            JSON text, bytes or lines.
        from_: Name of the dialect, or "auto" to have it recognised.
        profile: Host or platform, where the dialect has several ("deepseek", "vertex").
        model: Model to record where the payload names none.
        account: Account hint to record.

    Raises:
        TypeError: The payload is a Path, or a list of LangChain messages.
        UnknownDialectError: No dialect has this name, or none recognises the payload.
        MalformedHistoryError: The payload is no history of the dialect; carries every problem with its position.
    """
    _check_payload(payload, from_)
    report = Report(target=from_)
    value = read_payload(payload, from_, report=report)
    dialect = recognise(value) if from_ == "auto" else get_dialect(from_)
    _check_profile(dialect, profile)
    report.target = dialect.name
    options = ImportOptions(profile=profile, model=model, account=account)
    envelopes = dialect.parse(value, options, report)
    kinds = check_types(envelopes, dialect.name)
    tell_unknown(value, envelopes, dialect.name, kinds=kinds, report=report)
    if "invalid_tool_call" in kinds and dialect.name not in _KNOW_INVALID_CALLS:
        tell_invalid(envelopes, report)
    tell_partial(value, envelopes, dialect.name, report)
    settings = settings_of(value, dialect.name, report)
    return Imported(
        envelopes=envelopes,
        report=report.losses,
        origin=_origin(envelopes),
        dialect=dialect.name,
        settings=settings,
    )


def _check_payload(payload: Any, from_: str) -> None:
    """Refuse what is no provider's history but was meant for another function."""
    hint = "is a path: give what the file holds, for example Path(...).read_bytes()"
    if isinstance(payload, Path):
        raise TypeError(f"{str(payload)!r} {hint}")
    if isinstance(payload, str) and len(payload) < _MAX_PATH and _PATH.fullmatch(payload) is not None:
        raise MalformedHistoryError(from_, [f"{payload!r} {hint}"])  # a text is data, and may be anybody's
    first = payload[0] if isinstance(payload, (list, tuple)) and payload else payload
    if isinstance(first, BaseMessage):
        raise TypeError("these are LangChain messages already: export_messages(messages, to=...) writes them")


_PATH: Final = re.compile(r"[^\s{}\[\]\"]+\.jsonl?|[.~/][^\s{}\[\]\"]*")
_MAX_PATH: Final = 1_000


def lint(payload: Any, dialect: str = "auto", **options: Any) -> list[Finding]:
    """Check a native history, ours or anyone's, against its provider's rules; empty means none is broken.

    Args:
        payload: The history as Python objects, those of the providers' SDKs too, or as JSON text. What a request says
            beside its history counts: its model, and what else rules depend on.
        dialect: Name of the dialect, or "auto".
        **options: Fields of `ExportOptions` that change rules: profile, model (before the one that the payload
            names), store, and for_next_turn: with False, the payload is sent as it is, and how it ends is checked too.

    >>> [str(finding) for finding in lint([{"role": "tool", "content": "1", "tool_call_id": "a"}], "openai-chat")]
    ["[C2] messages[0]: no call 'a' before it"]
    """
    value = read_payload(payload, dialect, report=Report(target=dialect))
    known = recognise(value) if dialect == "auto" else get_dialect(dialect)
    chosen = _options(options)
    _check_profile(known, chosen.profile)
    named = value.get("model") if isinstance(value, Mapping) else None
    if chosen.model is None and isinstance(named, str):
        chosen = replace(chosen, model=named)
    return known.lint(value, chosen)


def read_messages(
    messages: Iterable[BaseMessage | MessageEnvelope], broken: list[int] | None = None
) -> list[MessageEnvelope]:
    """Read messages as envelopes; an envelope stays what it is.

    Args:
        messages: LangChain messages or message envelopes, in order.
        broken: Is given the index of each message whose lone surrogates became U+FFFD.

    Raises:
        IncompatibleHistoryError: A message holds a value that no checkpoint can hold.
        TypeError: They are no messages, or no list of them.
    """
    mended: list[int] = [] if broken is None else broken
    given: Any = messages
    if not isinstance(given, Iterable) or isinstance(given, (str, bytes, Mapping, BaseMessage)):
        raise TypeError(f"{type(given).__name__} is no list of messages; put a single one into a list")
    return [
        message  # type: ignore[misc]  # a dict with these keys is taken for an envelope
        if type(message) is dict and "v" in message and "role" in message and type(message.get("content")) is list
        else _read(message, at, mended)
        for at, message in enumerate(given)
    ]


def _read(message: BaseMessage | MessageEnvelope, at: int, broken: list[int]) -> MessageEnvelope:
    if not isinstance(message, BaseMessage):
        return _checked(message)
    try:
        plain = read_plain(message)
        return lift_items(plain or read_message(_mended(message, at, broken)))
    except (TypeError, ValueError, RecursionError) as error:
        raise IncompatibleHistoryError(
            f"message {at} holds a value that no checkpoint can hold ({error})",
            turn=None,
            fix="Spell it as a text, or leave it out.",
        ) from error


def _checked(message: Any) -> MessageEnvelope:
    if _is_envelope(message):
        return cast(MessageEnvelope, message)
    raise TypeError(
        f"a {type(message).__name__} is neither a LangChain message nor a message envelope; "
        "read provider histories with import_messages first"
    )


def _mended(message: BaseMessage, at: int, broken: list[int]) -> BaseMessage:
    """Return a message without lone surrogates, which LangGraph's encoder would turn into question marks in silence."""
    repairs: list[str] = []
    fields = {key: mend_surrogates(value, repairs) for key, value in message.__dict__.items()}
    if not repairs:
        return message
    broken.append(at)
    return message.model_copy(update=fields)


def _is_envelope(message: Any) -> bool:
    if type(message) is not dict and not isinstance(message, Mapping):
        return False
    return "v" in message and "role" in message and isinstance(message.get("content"), list)


def _select(
    placed: list[Placed],
    *,
    turns: int | tuple[int, int | None] | None,
    max_tokens: int | None,
    count_tokens: Callable[[Sequence[MessageEnvelope]], int] | None,
) -> list[Placed]:
    check_turns(turns)
    if turns is not None:
        start, stop = (max(0, turn_count(placed) - turns), None) if isinstance(turns, int) else turns
        placed = turn_range(placed, start, stop)
    if max_tokens is None:
        return placed
    if max_tokens < 0:
        raise ValueError(f"max_tokens={max_tokens}: a number of tokens is not negative")
    if count_tokens is None:
        raise TypeError("max_tokens needs count_tokens=, a function that counts the tokens of some envelopes")
    return token_budget(placed, max_tokens, count_tokens=count_tokens)


def _options(options: Mapping[str, Any], *more: str) -> ExportOptions:
    """Take options; `more` are parameters beside them, for whom a word was misspelled."""
    unknown = options.keys() - _OPTIONS
    if unknown:
        known = ", ".join(sorted({*_OPTIONS, *more}))
        raise TypeError(f"unknown export option {', '.join(sorted(unknown))}; known are {known}")
    return ExportOptions(**options)


def _check_profile(dialect: Dialect, profile: str | None) -> None:
    if profile is not None and profile not in dialect.profiles:
        known = ", ".join(dialect.profiles) or "none"
        near = get_close_matches(str(profile).lower(), dialect.profiles, n=1)
        hint = f" Is it {near[0]!r}?" if near else ""
        raise DialectError(f"{dialect.name} has no profile {profile!r}.{hint} It has {known}.")


def _origin(envelopes: Sequence[MessageEnvelope]) -> Origin:
    """Return the origin of the first answer, else of the first message."""
    answers = (envelope for envelope in envelopes if envelope["role"] == "assistant" and "origin" in envelope)
    first = next(answers, envelopes[0] if envelopes else None)
    return first.get("origin", {}) if first else {}
