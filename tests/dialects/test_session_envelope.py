"""Session envelopes: read by the dialect their messages are of, with media by the envelope's own table only."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_portable_checkpoint.dialects.base import ImportOptions
from langgraph_portable_checkpoint.dialects.export import import_messages, lint
from langgraph_portable_checkpoint.dialects.report import Report
from langgraph_portable_checkpoint.dialects.session_envelope import SessionEnvelope
from langgraph_portable_checkpoint.errors import DialectError, FutureVersionError, MalformedHistoryError
from tests.dialects.made import JSON

DIALECT = SessionEnvelope()
ANTHROPIC = [
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "q"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "$media:abc.png"}},
        ],
    },
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "1"}]},
]
OPENAI = [
    {"role": "user", "content": "q"},
    {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c", "output": "1"},
]
GOOGLE = [
    {
        "role": "user",
        "parts": [
            {
                "file_data": {
                    "file_uri": "https://generativelanguage.googleapis.com/v1beta/files/x",
                    "mime_type": "audio/wav",
                }
            }
        ],
    },
    {"role": "model", "parts": [{"text": "a", "thought_signature": "QQ=="}]},
]
FIREWORKS = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a", "reasoning_content": "hm"}]
PLAIN = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]


def read(payload: Any) -> tuple[list[Any], list[Any]]:
    report = Report(target="session-envelope")
    return DIALECT.parse(payload, ImportOptions(), report), list(report)


@pytest.mark.parametrize(
    ("messages", "provider", "expected"),
    [
        (ANTHROPIC, "anthropic", "anthropic"),
        (OPENAI, "openai", "openai"),
        (GOOGLE, "google", "google"),
        (FIREWORKS, "fireworks", "fireworks"),
        (PLAIN, "anthropic", "anthropic"),
    ],
)
def test_messages_are_read_by_their_own_dialect(messages: Any, provider: str, expected: str) -> None:
    for envelope in (
        {"version": 3, "provider": provider, "model": "m", "messages": messages},
        {"version": 2, "messages": messages},
        {"messages": messages},
    ):
        found, _ = read(envelope)
        assert [one["role"] for one in found][:1] == ["user"]
        if "provider" in envelope:
            assert {one["origin"]["provider"] for one in found} == {expected}
            assert {one["origin"]["model"] for one in found} == {"m"}


def test_a_listed_marker_becomes_a_reference_and_is_told() -> None:
    entry = {"ref": "abc.png", "sha256": "0" * 64, "mime_type": "image/png", "size": 136}
    found, losses = read({"version": 3, "provider": "anthropic", "messages": ANTHROPIC, "media": [entry]})
    image = found[0]["content"][1]
    assert image["media"] == entry
    assert "base64" not in image
    assert [(loss.rule, loss.kind) for loss in losses] == [("S2", "unresolved")]


@pytest.mark.parametrize("table", [None, {}, [], [{"ref": "other.png", "data": "aGk="}]])
def test_a_marker_that_the_table_does_not_list_is_data_and_told(table: Any) -> None:
    envelope = {"version": 3, "provider": "anthropic", "messages": ANTHROPIC, "media": table}
    found, losses = read(envelope)
    assert found[0]["content"][1]["base64"] == "$media:abc.png"
    assert [(loss.rule, loss.kind, loss.message, loss.path, loss.detail) for loss in losses] == [
        ("S2", "unresolved", 0, "content[1]", "abc.png")
    ]
    assert [finding.rule for finding in lint(envelope, "session-envelope")] == ["S2"]


MARKED = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "$media:abc.png"}}
IN_DOCUMENT = {"type": "document", "source": {"type": "content", "content": [MARKED, {"type": "text", "text": "a"}]}}
NESTED = [
    ("anthropic", {"role": "user", "content": [IN_DOCUMENT]}),
    ("openai", {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "$media:abc.png"}),
    ("openai", {"type": "custom", "image_url": "data:image/png;base64,$media:abc.png"}),
]


@pytest.mark.parametrize(("provider", "message"), NESTED)
def test_a_marker_inside_a_providers_own_item_is_filled_in_or_told(provider: str, message: Any) -> None:
    envelope = {"version": 3, "provider": provider, "messages": [message]}
    found, losses = read({**envelope, "media": [{"ref": "abc.png", "data": "aGk="}]})
    assert (str(found).count("aGk=") > 0, "$media:" in str(found), losses) == (True, False, [])
    for table in ([], [{"ref": "abc.png", "sha256": "0" * 64}]):
        found, losses = read({**envelope, "media": table})
        assert "$media:abc.png" in str(found)
        assert [(loss.rule, loss.path, loss.detail) for loss in losses] == [("S2", "content[0]", "abc.png")]


def test_a_text_that_looks_like_a_marker_stays_as_it_is() -> None:
    document = {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "$media:abc"}]}}
    messages = [{"role": "user", "content": [{"type": "text", "text": "$media:abc"}, document, MARKED]}]
    found, _ = read({"version": 3, "provider": "anthropic", "messages": messages, "media": {"abc": {"data": "aGk="}}})
    assert "aGk=" not in str(found)


def test_bytes_in_the_table_come_back_for_markers_and_uploads() -> None:
    found, _ = read(
        {"version": 3, "provider": "anthropic", "messages": ANTHROPIC, "media": {"abc.png": {"data": "aGk="}}}
    )
    assert found[0]["content"][1]["base64"] == "aGk="
    table = [{"uri": "https://generativelanguage.googleapis.com/v1beta/files/x", "data": "UklGRg=="}]
    found, _ = read({"version": 3, "provider": "google", "messages": GOOGLE, "media": table})
    assert (found[0]["content"][0]["base64"], "file_id" in found[0]["content"][0]) == ("UklGRg==", True)


def test_an_interrupted_turn_is_told() -> None:
    metadata = {"interrupted_turn": {"message": "again?", "error_type": "TimeoutError", "files_attached": 1}}
    _, losses = read({"version": 3, "messages": PLAIN, "metadata": metadata})
    assert [(loss.rule, loss.kind, loss.detail) for loss in losses] == [
        ("S3", "unresolved", "error_type TimeoutError, files_attached 1")
    ]
    assert "again?" not in str(losses)


def test_a_version_from_the_future_is_refused_by_name() -> None:
    with pytest.raises(FutureVersionError):
        read({"version": 4, "messages": PLAIN})


@pytest.mark.parametrize(
    ("payload", "where"),
    [
        (None, "object"),
        ([], "object"),
        ({"version": 3}, "messages"),
        ({"version": 0, "messages": []}, "version"),
        ({"version": "x", "messages": []}, "version"),
        ({"version": True, "messages": []}, "version"),
        ({"version": 3, "provider": "anthropic", "messages": [{"role": "x"}]}, "messages[0]"),
    ],
)
def test_what_is_no_envelope_is_refused_with_its_place(payload: Any, where: str) -> None:
    with pytest.raises(MalformedHistoryError) as raised:
        read(payload)
    assert any(where in problem for problem in raised.value.problems)


def test_it_knows_its_own() -> None:
    assert DIALECT.recognises({"version": 3, "messages": PLAIN, "metadata": {}}) > 0.9
    assert DIALECT.recognises({"messages": PLAIN}) == 0.0


@pytest.mark.parametrize("more", [{}, {"media": []}, {"provider": "anthropic", "model": "m"}, {"metadata": {}}])
@pytest.mark.parametrize("messages", [ANTHROPIC, OPENAI, FIREWORKS])
def test_a_version_and_messages_are_an_envelope(messages: Any, more: dict[str, Any]) -> None:
    assert import_messages({"version": 2, "messages": messages, **more}).dialect == "session-envelope"
    assert DIALECT.recognises({"messages": messages, **more}) == 0.0
    with pytest.raises(FutureVersionError):
        import_messages({"version": 4, "messages": messages, **more})


def test_these_envelopes_are_only_read() -> None:
    with pytest.raises(DialectError):
        DIALECT.render([], None, Report())  # type: ignore[arg-type]


ENVELOPES = st.fixed_dictionaries(
    {"messages": st.lists(st.sampled_from([*ANTHROPIC, *OPENAI, *GOOGLE, *FIREWORKS]) | JSON, max_size=4) | JSON},
    optional={
        "version": st.integers(-1, 5) | JSON,
        "provider": st.sampled_from(["anthropic", "openai", "google"]) | JSON,
        "media": JSON,
        "metadata": JSON,
        "model": JSON,
    },
)


@settings(max_examples=300, deadline=None)
@given(ENVELOPES | JSON)
def test_any_payload_is_read_or_refused(payload: Any) -> None:
    DIALECT.recognises(payload)
    try:
        read(payload)
    except (MalformedHistoryError, FutureVersionError, DialectError):
        return
