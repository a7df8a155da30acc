"""One thread as one JSON document."""

from __future__ import annotations

import hashlib
import json
import stat
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_portable_checkpoint.envelope import archive as archive_module
from langgraph_portable_checkpoint.envelope.archive import (
    ArchivedMedia,
    ThreadArchive,
    archive_from_json,
    archive_to_json,
)
from langgraph_portable_checkpoint.envelope.facts import MediaFact, MessageFact
from langgraph_portable_checkpoint.envelope.turn_log import derive_turns
from langgraph_portable_checkpoint.envelope.turn_model import Stamp, TurnMessage
from langgraph_portable_checkpoint.errors import CorruptRecordError, FutureVersionError

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
STAMP = Stamp("t1", NOON, "c1", ("langgraph", "1.2"), ("langgraph-portable-checkpoint", "1"))
PNG = b"\x89PNG\r\n"
PICTURE = MessageFact("user", typed_by_user=True, media=(MediaFact("aa", "image/png", 6),))
ASK = MessageFact("assistant", tool_calls=("c1",))


def envelope(**more: Any) -> Any:
    return {"v": 1, "role": "user", "content": [{"type": "text", "text": "hi"}], **more}


def archive_of(*envelopes: Any, facts: tuple[MessageFact, ...] | None = None) -> ThreadArchive:
    facts = facts or (PICTURE,) * len(envelopes)
    messages = [TurnMessage(bytes([n]) * 16, f"m{n}", fact) for n, fact in enumerate(facts)]
    return ThreadArchive(
        thread_id="t1",
        saved_at="2026-01-02T12:00:00.000000+00:00",
        writer={"package": "langgraph-portable-checkpoint", "version": "1"},
        turns=tuple(derive_turns(messages, stamp=STAMP)),
        messages={message.ref: one for message, one in zip(messages, envelopes, strict=True)},
        media=(
            ArchivedMedia(hashlib.sha256(PNG).hexdigest(), "image/png", len(PNG), data=PNG),
            ArchivedMedia("ab" * 32, None, 5, store="directory", ref="ab.bin"),
        ),
    )


SMALL = archive_of(envelope(), envelope(role="assistant"), facts=(PICTURE, ASK))


def test_a_thread_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "thread.json"
    text = archive_to_json(SMALL, path=path)
    for source in (text, text.encode(), "\n  " + text, b"\xef\xbb\xbf" + text.encode(), path, str(path)):
        assert archive_from_json(source) == SMALL


def test_a_long_turn_is_one_list_in_json_and_pages_again_when_read() -> None:
    many = archive_of(*[envelope()] * 201, facts=(PICTURE, *[ASK, PICTURE, ASK, ASK] * 1, *[ASK] * 196))
    document = json.loads(archive_to_json(many))
    assert [len(turn["messages"]) for turn in document["turns"]] == [2, 199]
    assert all("pages" not in turn for turn in document["turns"])
    assert archive_from_json(json.dumps(document)) == many


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text() | st.binary() | st.floats(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
        | st.dictionaries(st.integers(-5, 5), inner, max_size=2)
    ),
    max_leaves=8,
)


@given(json_values, json_values)
def test_any_value_comes_back_also_what_json_cannot_say(state: Any, args: Any) -> None:
    call = {"type": "tool_call", "args": {"binary": args}, "extras": {"binary": args}}
    one = envelope(state={"fields": state}, content=[call])
    document = archive_to_json(archive_of(one))
    assert archive_from_json(document).messages == {b"\0" * 16: one}


def test_not_a_number_comes_back_and_the_text_is_strict_json() -> None:
    text = archive_to_json(archive_of(envelope(state={"x": float("nan"), "y": float("inf")})))
    json.loads(text, parse_constant=pytest.fail)
    state: Any = archive_from_json(text).messages[b"\0" * 16]["state"]
    assert state["x"] != state["x"]
    assert state["y"] == float("inf")


def test_text_that_looks_like_a_marker_is_text() -> None:
    one = envelope(state={"binary": [[["state"], "wMA="]]}, extras={"base64": "x", "$bytes": "y"})
    assert archive_from_json(archive_to_json(archive_of(one))).messages[b"\0" * 16] == one


def test_what_lives_in_memory_only_is_not_written() -> None:
    one = envelope(raw_content="hi", content=[{"type": "text", "text": "hi", "raw": {"a": 1}}])
    assert "raw" not in archive_to_json(archive_of(one))


def test_unknown_fields_survive_a_round_trip() -> None:
    document = json.loads(archive_to_json(SMALL))
    document["later"] = {"a": 1}
    document["turns"][0]["later"] = [1]
    document["messages"][0]["envelope"]["later"] = "x"
    again = json.loads(archive_to_json(archive_from_json(json.dumps(document))))
    assert again == document


def test_bytes_in_unknown_fields_of_a_turn_survive() -> None:
    turn = SMALL.turns[0]
    later: Any = {**turn.record, "later": b"\x00\xff"}
    with_bytes = replace(SMALL, turns=(replace(turn, record=later),))
    assert archive_from_json(archive_to_json(with_bytes)) == with_bytes


def broken(change: Any) -> str:
    document = json.loads(archive_to_json(SMALL))
    change(document)
    return json.dumps(document)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda d: d.pop("turns"), "turns"),
        (lambda d: d.update(messages={}), "messages"),
        (lambda d: d.update(format="other"), "format"),
        (lambda d: d.update(v=None), "version"),
        (lambda d: d.update(v=0), "version"),
        (lambda d: d["messages"].pop(), "absent"),
        (lambda d: d["messages"][0].pop("envelope"), "message is malformed"),
        (lambda d: d["messages"][0].update(ref="xyz"), "message is malformed"),
        (lambda d: d["messages"][0].update(envelope=[]), "message is malformed"),
        (lambda d: d["messages"][0]["envelope"].update(content="hi"), "message is malformed"),
        (lambda d: d["messages"][0].update(binary=[[["v"], "wA=="]]), "no place"),
        (lambda d: d["messages"][0].update(binary=[[[], "wA=="]]), "no place"),
        (lambda d: d["messages"][0].update(binary=[[["a", "b"], "wA=="]]), "binary value"),
        (lambda d: d["messages"][0].update(binary=[[["id"], "***"]]), "binary value"),
        (lambda d: d["messages"][0].update(binary=7), "binary value"),
        (lambda d: d["turns"][0].update(count=9), "counts 9"),
        (lambda d: d["turns"][0].pop("status"), "status"),
        (lambda d: d.update(turns=[3]), "int stands where a map should"),
        (lambda d: d["media"][0].update(base64="AAAA"), "digest"),
        (lambda d: d["media"][0].update(base64="A"), "media entry"),
        (lambda d: d["media"].append("x"), "media entry"),
    ],
)
def test_a_damaged_archive_is_refused_whole(change: Any, reason: str) -> None:
    with pytest.raises(CorruptRecordError, match=reason):
        archive_from_json(broken(change))


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(v=2),
        lambda d: d["turns"][0].update(v=2),
        lambda d: d["messages"][0]["envelope"].update(v=2),
    ],
)
def test_a_newer_version_is_refused_by_name(change: Any) -> None:
    with pytest.raises(FutureVersionError, match="version 2"):
        archive_from_json(broken(change))


@pytest.mark.parametrize("source", [b"\xff\xfe", b"", b"[]", "[1]", "{", '{"a": NaN}', b"[" * 100_000, b"3", b"null"])
def test_what_is_no_archive_is_refused(source: str | bytes) -> None:
    with pytest.raises(CorruptRecordError):
        archive_from_json(source)


def test_a_truncated_file_is_never_read_in_part() -> None:
    text = archive_to_json(SMALL)
    for length in range(1, len(text) - 1, 97):
        with pytest.raises(CorruptRecordError):
            archive_from_json(text[:length])


def test_a_file_that_is_not_there_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        archive_from_json(tmp_path / "none.json")
    with pytest.raises(FileNotFoundError):
        archive_to_json(SMALL, path=tmp_path / "none" / "thread.json")


def test_a_failed_write_leaves_the_older_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "thread.json"
    path.write_text("older")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(archive_module.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        archive_to_json(SMALL, path=path)
    assert path.read_text() == "older"
    assert list(tmp_path.iterdir()) == [path]


def test_an_archive_is_the_owners_alone_unless_the_older_file_was_not(tmp_path: Path) -> None:
    path = tmp_path / "thread.json"
    archive_to_json(SMALL, path=path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    archive_to_json(SMALL, path=path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
