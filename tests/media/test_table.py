"""Records of the media table and the media report, and their dict forms."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from langgraph_portable_checkpoint.errors import CorruptRecordError
from langgraph_portable_checkpoint.media.table import MediaRecord, MediaReport, MediaTable, Upload, record_key

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
UPLOAD = Upload(uri="https://files/1", account="key-1", uploaded_at=NOON, expires_at=NOON + timedelta(hours=48))
RECORD = MediaRecord(
    sha256="ab" * 32, mime_type="audio/wav", size_bytes=5, store="directory", ref="x", first_turn=0, uploads=(UPLOAD,)
)


@pytest.mark.parametrize(
    "record",
    [
        RECORD,
        MediaRecord(uploads=(UPLOAD,)),
        MediaReport(reason="stripped"),
        MediaReport(reason="expired_reuploaded", message=3, turn=0, uri="a", new_uri="b", expires_at=NOON),
    ],
)
def test_records_survive_json(record: MediaRecord | MediaReport) -> None:
    assert type(record).from_wire(json.loads(json.dumps(record.to_wire()))) == record


def test_times_are_written_in_utc() -> None:
    local = datetime(2026, 1, 2, 14, tzinfo=timezone(timedelta(hours=2)))
    assert Upload(uri="u", uploaded_at=local).to_wire() == {"uri": "u", "uploaded_at": "2026-01-02T12:00:00Z"}
    with pytest.raises(ValueError, match="zone"):
        Upload(uri="u", uploaded_at=NOON.replace(tzinfo=None)).to_wire()


def test_keys_of_a_newer_writer_are_kept() -> None:
    wire = {**RECORD.to_wire(), "colour": "red", "uploads": [{"uri": "u", "quota": 5}]}
    assert MediaRecord.from_wire(wire).to_wire() == wire


@pytest.mark.parametrize(
    "wire",
    [
        None,
        [],
        {1: 2},
        {"sha256": 5},
        {"size_bytes": "5"},
        {"size_bytes": True},
        {"uploads": "x"},
        {"uploads": [{}]},
        {"uploads": [{"uri": "u", "expires_at": "tomorrow"}]},
        {"uploads": [{"uri": "u", "expires_at": "2026-01-01T00:00:00"}]},
    ],
)
def test_records_that_were_altered_are_refused(wire: object) -> None:
    with pytest.raises(CorruptRecordError):
        MediaRecord.from_wire(wire)


@pytest.mark.parametrize("wire", [{}, {"reason": "lost"}, {"reason": "stripped", "turn": "one"}])
def test_reports_have_a_known_reason(wire: object) -> None:
    with pytest.raises(CorruptRecordError):
        MediaReport.from_wire(wire)


def test_the_table_finds_media_by_digest_and_by_upload() -> None:
    table = MediaTable([RECORD])
    assert table.by_digest("ab" * 32) is RECORD
    assert table.by_uri("https://files/1") is RECORD
    assert table.by_uri("https://files/2") is None
    again = RECORD.with_upload(Upload(uri="https://files/2"))
    table.put(again)
    assert len(table) == 1
    assert table.by_uri("https://files/2") is table.by_uri("https://files/1") is again


def test_an_upload_that_is_recorded_again_replaces_itself() -> None:
    assert RECORD.with_upload(Upload(uri="https://files/1")).uploads == (Upload(uri="https://files/1"),)


def test_a_record_without_digest_is_named_by_its_upload() -> None:
    assert record_key(MediaRecord(uploads=(UPLOAD,))) == "uri:https://files/1"
    with pytest.raises(ValueError, match="digest or an upload"):
        record_key(MediaRecord())


def test_records_of_one_digest_are_one_medium_with_all_of_their_uploads() -> None:
    other = MediaRecord(sha256="ab" * 32, mime_type="audio/wav", first_turn=3, uploads=(Upload(uri="https://files/2"),))
    for told in ([RECORD, other], [other, RECORD]):
        table = MediaTable(told)
        [one] = table
        assert (one.store, one.ref) == ("directory", "x")
        assert sorted(upload.uri for upload in one.uploads) == ["https://files/1", "https://files/2"]
        assert table.by_uri("https://files/1") is table.by_uri("https://files/2") is one


def test_a_record_that_takes_the_place_of_another_takes_its_uris_away() -> None:
    table = MediaTable([RECORD])
    table.put(MediaRecord(sha256="ab" * 32))
    assert table.by_uri("https://files/1") is None


def test_a_uri_names_one_medium() -> None:
    unknown = MediaRecord(uploads=(UPLOAD,))
    for told in ([RECORD, unknown], [unknown, RECORD]):
        assert list(MediaTable(told)) == [RECORD]
    late = MediaRecord(
        sha256="cd" * 32, uploads=(Upload(uri="https://files/1", uploaded_at=NOON + timedelta(hours=1)),)
    )
    for told in ([RECORD, late], [late, RECORD]):
        table = MediaTable(told)
        assert table.by_uri("https://files/1") is late
        assert {one.sha256: len(one.uploads) for one in table} == {"ab" * 32: 0, "cd" * 32: 1}
    table = MediaTable([late])
    table.put(RECORD)
    assert table.by_uri("https://files/1") is RECORD


def test_media_of_which_next_to_nothing_is_known_are_listed() -> None:
    bare = MediaRecord(mime_type="image/png", size_bytes=5)
    assert list(MediaTable([bare, RECORD, bare])) == [bare, RECORD, bare]
