"""Made histories: broken ones of any origin must become payloads that every oracle takes, whole ones must come back."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_portable_checkpoint.dialects.base import ExportOptions
from langgraph_portable_checkpoint.dialects.export import export_messages, export_placed, import_messages, lint
from langgraph_portable_checkpoint.dialects.normalise import normalise, normaliser_losses
from langgraph_portable_checkpoint.dialects.registry import get_dialect
from langgraph_portable_checkpoint.dialects.report import Report
from langgraph_portable_checkpoint.dialects.selection import place
from langgraph_portable_checkpoint.errors import DialectError, IncompatibleHistoryError, MalformedHistoryError
from tests.dialects.made import HISTORIES
from tests.dialects.made_native import NATIVE, turns
from tests.dialects.recorded import TARGETS, breaches, entries

POLICIES = st.fixed_dictionaries(
    {
        "incomplete": st.sampled_from(["drop", "trim", "synthesize"]),
        "reasoning": st.sampled_from(["same-origin", "drop", "text"]),
        "orphans": st.sampled_from(["drop", "text"]),
        "server_tools": st.sampled_from(["drop", "text"]),
        "on_unsupported_part": st.sampled_from(["placeholder", "drop"]),
        "for_next_turn": st.booleans(),
    }
)
OWN = ("openai-chat", "openai-responses", "anthropic", "mistral")


@settings(max_examples=400)
@given(HISTORIES, st.sampled_from(TARGETS), POLICIES)
def test_any_history_becomes_a_payload_that_oracles_and_linter_take(
    history: list[Any], target: tuple[str, str | None], policies: dict[str, Any]
) -> None:
    dialect, profile = target
    before = copy.deepcopy(history)
    try:
        export = export_messages(history, dialect, profile=profile, **policies)
    except IncompatibleHistoryError:
        return
    finally:
        assert history == before
    if not entries(export.payload, dialect):
        assert not any(message["role"] in ("user", "assistant") and message["content"] for message in history)
        return
    assert not breaches(export.payload, dialect, profile)
    asked = {"profile": profile, "for_next_turn": policies["for_next_turn"]}
    assert not lint(export.payload, dialect, **asked)
    assert _undeclared(export.report, dialect, profile) == set()


def _undeclared(report: Any, dialect: str, profile: str | None) -> set[tuple[str, str]]:
    known = get_dialect(dialect)
    losses = (*known.LOSSES, *normaliser_losses(known.target(ExportOptions(profile=profile))))
    return {(loss.rule, loss.kind) for loss in report} - {(loss.rule, loss.kind) for loss in losses}


@settings(max_examples=150)
@given(HISTORIES, st.sampled_from(OWN), POLICIES)
def test_normalising_twice_changes_nothing_more(history: list[Any], dialect: str, policies: dict[str, Any]) -> None:
    known, options = get_dialect(dialect), ExportOptions(**policies)
    target = known.target(options)
    try:
        once = normalise(place(history), target, options=options, report=Report())
        again_report = Report()
        again = normalise(once.conversation, target, options=options, report=again_report)
    except IncompatibleHistoryError:
        return
    assert [one.envelope for one in again.conversation] == [one.envelope for one in once.conversation]
    # The lost error flag is told each time: the normalised envelope still knows it, only the payload cannot say it.
    assert {loss.action for loss in again_report} <= {"the error flag was lost; the text stays"}


@settings(max_examples=100)
@given(turns(), st.sampled_from(sorted(NATIVE)))
def test_whole_native_histories_come_back_byte_for_byte(made: list[dict[str, Any]], dialect: str) -> None:
    payload = NATIVE[dialect](made)
    export = export_messages(import_messages(payload, dialect).envelopes, dialect)
    back = export.payload if isinstance(payload, dict) else entries(export.payload, dialect)
    assert json.dumps(back, sort_keys=True) == json.dumps(payload, sort_keys=True)
    assert export.lossless


@settings(max_examples=100)
@given(turns(), st.sampled_from(sorted(NATIVE)), st.sampled_from(OWN))
def test_import_of_an_export_equals_the_normalised_history(
    made: list[dict[str, Any]], source: str, dialect: str
) -> None:
    """What is in the payload comes back; what is not, the report tells."""
    envelopes = import_messages(NATIVE[source](made), source).envelopes
    known, options = get_dialect(dialect), ExportOptions()
    fitted = normalise(place(envelopes), known.target(options), options=options, report=Report())
    payload = export_placed(place(envelopes), known, options=options).payload
    back = import_messages(payload, dialect).envelopes
    assert [_said(one) for one in back] == [_said(one.envelope) for one in fitted.conversation]


def _said(envelope: Any) -> tuple[Any, ...]:
    keys = ("type", "text", "reasoning", "name", "args", "base64")
    blocks = [
        ([block.get(key) or None for key in keys], block.get("id") if "args" in block else None)
        for block in envelope["content"]
    ]
    return envelope["role"], envelope.get("tool_call_id"), blocks


@settings(max_examples=100)
@given(turns(), st.sampled_from(sorted(NATIVE)), st.sampled_from(TARGETS), st.data())
def test_a_longer_history_starts_as_the_shorter_one(
    made: list[dict[str, Any]], source: str, target: tuple[str, str | None], data: st.DataObject
) -> None:
    envelopes = list(import_messages(NATIVE[source](made), source).envelopes)
    count = data.draw(st.integers(1, len(envelopes)))
    dialect, profile = target
    whole = entries(export_messages(envelopes, dialect, profile=profile).payload, dialect)
    try:
        part = entries(export_messages(envelopes[:count], dialect, profile=profile).payload, dialect)
    except IncompatibleHistoryError:
        return
    assert whole[: len(part)] == part


JUNK = st.sampled_from([None, True, 0, -1.5, "", "x", "\ud800", [], {}, [[]], [None], {"type": 1}, {"a": {}}, b"\x00"])
CHANGES = st.lists(
    st.tuples(st.integers(0, 10_000), st.sampled_from(["replace", "delete", "repeat", "wrap"]), JUNK), max_size=4
)


@settings(max_examples=400)
@given(turns(), st.sampled_from(sorted(NATIVE)), st.sampled_from(OWN), CHANGES)
def test_damaged_histories_lead_to_a_typed_error_or_an_export(
    made: list[dict[str, Any]], source: str, reader: str, changes: list[tuple[int, str, Any]]
) -> None:
    payload = copy.deepcopy(NATIVE[source](made))
    for change in changes:
        _damage(payload, *change)
    for name in OWN:
        assert 0.0 <= get_dialect(name).recognises(payload) <= 1.0
        lint(payload, name)
    try:
        imported = import_messages(payload, reader)
    except MalformedHistoryError:
        return
    for target, profile in (*TARGETS[:3], ("openai-responses", None), ("anthropic", None), ("mistral", None)):
        try:
            export = export_messages(imported.envelopes, target, profile=profile, incomplete="synthesize")
        except IncompatibleHistoryError:
            continue
        json.dumps(export.payload, default=repr)


def _damage(payload: Any, where: int, how: str, junk: Any) -> None:
    """Change one place somewhere inside."""
    places = list(_places(payload))
    if not places:
        return
    holder, key = places[where % len(places)]
    if how == "delete":
        del holder[key]
    elif how == "repeat" and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(holder[key]))
    elif how == "wrap":
        holder[key] = [holder[key]]
    else:
        holder[key] = copy.deepcopy(junk)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from _places(value[key])


@pytest.mark.parametrize("dialect", OWN)
@given(
    payload=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.binary(max_size=4),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["role", "messages", "input"]), inner, max_size=2)
        ),
        max_leaves=6,
    )
)
@settings(max_examples=60)
def test_what_is_no_history_is_refused_with_a_typed_error(dialect: str, payload: Any) -> None:
    with contextlib.suppress(DialectError):
        import_messages(payload, dialect)
    if not isinstance(payload, (str, bytes)):
        lint(payload, dialect)
