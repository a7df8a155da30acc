"""Provider uploads that expire: what is asked, what is uploaded again, what becomes a placeholder."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langgraph_portable_checkpoint.errors import InvalidUploadError, MediaDigestError, MediaError, MediaStoreError
from langgraph_portable_checkpoint.media.hooks import MediaHooks
from langgraph_portable_checkpoint.media.policy import MediaPolicy
from langgraph_portable_checkpoint.media.table import MediaRecord, MediaReport, MediaTable, Upload
from langgraph_portable_checkpoint.media.uploads import (
    CheckUpload,
    FetchBytes,
    Refreshed,
    UploadAgain,
    arefresh_uploads,
    plan_upload,
    refresh_program,
    refresh_uploads,
)

NOW = datetime(2026, 1, 5, tzinfo=UTC)
HOUR = timedelta(hours=1)
BASE = "https://generativelanguage.googleapis.com/v1beta/files/"
OLD, NEW = BASE + "old", BASE + "new"
SHA = "ab" * 32
DATA = b"the bytes"


def media(uri: str = OLD) -> dict[str, Any]:
    return {"type": "media", "file_uri": uri, "mime_type": "audio/wav"}


def question(*uris: str, **fields: Any) -> HumanMessage:
    return HumanMessage([{"type": "text", "text": "listen"}, *map(media, uris)], id="q", **fields)


def table(*uploads: Upload, sha256: str | None = SHA, store: str | None = "redis") -> MediaTable:
    known = MediaRecord(sha256=sha256, mime_type="audio/wav", size_bytes=9, store=store, ref="r", uploads=uploads)
    return MediaTable([known])


EXPIRED = Upload(uri=OLD, expires_at=NOW - HOUR, account="a")
ALIVE = Upload(uri=OLD, expires_at=NOW + HOUR, account="a")
UNKNOWN = Upload(uri=OLD)


class Provider:
    """Answers for a provider and a store, and remembers what it was asked."""

    def __init__(self, alive: tuple[str, ...] = (), data: bytes | MediaError = DATA) -> None:
        self.alive = alive
        self.data = data
        self.asked: list[Any] = []

    def check(self, upload: Upload) -> bool:
        self.asked.append(("check", upload.uri))
        return upload.uri in self.alive

    def fetch(self, record: MediaRecord) -> bytes | MediaError:
        self.asked.append(("fetch", record.sha256))
        return self.data

    def upload(self, data: bytes, record: MediaRecord) -> Upload | str:
        self.asked.append(("upload", data))
        return Upload(uri=NEW, expires_at=NOW + 48 * HOUR)


Run = Callable[..., Refreshed]


@pytest.fixture(params=["blocking", "async callables", "blocking callables, awaited"])
def run(request: pytest.FixtureRequest) -> Run:
    def awaited(call: Any) -> Any:
        async def answer(*arguments: Any) -> Any:
            await asyncio.sleep(0)
            return call(*arguments)

        return answer

    def refresh(values: Any, known: MediaTable, provider: Provider, **options: Any) -> Refreshed:
        calls = {"fetch": provider.fetch, "upload": provider.upload, "check": provider.check}
        if request.param == "blocking":
            return refresh_uploads(values, known, now=NOW, **calls, **options)
        if request.param == "async callables":
            calls = {name: awaited(call) for name, call in calls.items()}
        return asyncio.run(arefresh_uploads(values, known, now=NOW, **calls, **options))

    return refresh


def test_an_upload_that_lives_on_costs_no_call(run: Run) -> None:
    messages = [question(OLD), AIMessage("ok")]
    provider = Provider()
    refreshed = run(messages, table(ALIVE), provider)
    assert refreshed == ((messages[0], messages[1]), (), (), (), {})
    assert refreshed.values[0] is messages[0]
    assert provider.asked == []


def test_an_expired_upload_is_made_again_and_everything_that_names_it_is_rewritten(run: Run) -> None:
    messages = [question(OLD), AIMessage("ok"), question(OLD, OLD)]
    before = [message.model_copy(deep=True) for message in messages]
    provider = Provider()
    known = table(EXPIRED)
    refreshed = run(messages, known, provider, turns=[0, 0, 1])
    assert provider.asked == [("fetch", SHA), ("upload", DATA)]
    assert refreshed.changed == (0, 2)
    assert refreshed.values == (question(NEW), messages[1], question(NEW, NEW))
    assert messages == before
    [record] = refreshed.records
    assert [upload.uri for upload in record.uploads] == [OLD, NEW]
    assert known.by_uri(NEW) is None
    assert [(report.reason, report.uri, report.new_uri, report.turn) for report in refreshed.reports] == [
        ("expired_reuploaded", OLD, NEW, 0),
        ("expired_reuploaded", OLD, NEW, 1),
        ("expired_reuploaded", OLD, NEW, 1),
    ]
    assert refreshed.reports[0].message == "q"
    assert refreshed.reports[0].expires_at == EXPIRED.expires_at


def test_an_upload_that_comes_back_under_its_old_uri_is_reported_and_rewrites_nothing(run: Run) -> None:
    class Named(Provider):
        def upload(self, data: bytes, record: MediaRecord) -> Any:
            super().upload(data, record)
            return Upload(uri=OLD, expires_at=NOW + 48 * HOUR)

    messages, provider = [question(OLD), question(OLD)], Named()
    refreshed = run(messages, table(EXPIRED), provider)
    assert [step for step, _ in provider.asked] == ["fetch", "upload"]
    assert refreshed.changed == ()
    assert refreshed.values[0] is messages[0]
    assert [record.uploads[-1].expires_at for record in refreshed.records] == [NOW + 48 * HOUR]
    told = [(report.reason, report.uri, report.new_uri) for report in refreshed.reports]
    assert told == [("expired_reuploaded", OLD, OLD)] * 2


@pytest.mark.parametrize("known", [table(EXPIRED, sha256=None), table(EXPIRED, store=None)])
def test_an_expired_upload_without_bytes_becomes_a_placeholder(run: Run, known: MediaTable) -> None:
    refreshed = run([question(OLD)], known, Provider())
    assert refreshed.values[0].content[1] == {"type": "text", "text": "[audio/wav, 9 B, expired at the provider]"}
    assert [report.reason for report in refreshed.reports] == ["expired_no_bytes"]
    assert refreshed.records == ()


@pytest.mark.parametrize(
    ("value", "left"),
    [
        (
            HumanMessage([{"type": "text-plain", "text": "said", "url": OLD}], id="q"),
            HumanMessage([{"type": "text-plain", "text": "said"}], id="q"),
        ),
        (
            {"type": "file", "url": OLD, "note": "said"},
            {"type": "file", "url": "[data, 9 B, expired at the provider]", "note": "said"},
        ),
    ],
    ids=["a text that was found in the file", "a record"],
)
def test_a_text_beside_an_expired_upload_stays(run: Run, value: Any, left: Any) -> None:
    known = MediaRecord(size_bytes=9, uploads=(EXPIRED,))
    refreshed = run([value], MediaTable([known]), Provider())
    assert refreshed.values == (left,)
    assert [report.reason for report in refreshed.reports] == ["expired_no_bytes"]


@pytest.mark.parametrize(
    ("error", "reason"),
    [(MediaStoreError("HTTP 503"), "missing_blob"), (MediaDigestError("HTTP 503"), "corrupt_blob")],
)
def test_an_expired_upload_whose_bytes_cannot_be_had_now_is_left_and_reported(
    run: Run, error: MediaError, reason: str
) -> None:
    messages = [question(OLD), question(OLD)]
    heard: list[MediaReport] = []
    provider = Provider(data=error)
    refreshed = run(messages, table(EXPIRED), provider, hooks=MediaHooks(on_missing=heard.append))
    assert refreshed.values == tuple(messages)
    assert (refreshed.changed, refreshed.records, refreshed.successors) == ((), (), {})
    assert [(report.reason, report.uri, report.detail) for report in refreshed.reports] == [
        (reason, OLD, "HTTP 503")
    ] * 2
    assert tuple(heard) == refreshed.reports
    assert provider.asked == [("fetch", SHA)]


def test_what_can_be_renewed_is_renewed_beside_what_cannot(run: Run) -> None:
    other = BASE + "other"
    records = MediaTable([*table(EXPIRED), MediaRecord(uploads=(Upload(uri=other, expires_at=NOW - HOUR),))])
    refreshed = run([question(OLD, other)], records, Provider(data=MediaStoreError("down")))
    assert refreshed.values[0].content[1:] == [
        media(OLD),
        {"type": "text", "text": "[audio/wav, expired at the provider]"},
    ]
    assert [report.reason for report in refreshed.reports] == ["missing_blob", "expired_no_bytes"]


def test_an_upload_of_unknown_expiry_is_asked_for_once(run: Run) -> None:
    provider = Provider(alive=(OLD,))
    messages = [question(OLD), question(OLD)]
    assert run(messages, table(UNKNOWN), provider).changed == ()
    assert provider.asked == [("check", OLD)]


def test_a_uri_that_the_table_does_not_know_is_asked_for(run: Run) -> None:
    provider = Provider()
    refreshed = run([question(OLD)], MediaTable(), provider)
    assert provider.asked == [("check", OLD)]
    assert [report.reason for report in refreshed.reports] == ["expired_no_bytes"]


def test_an_upload_of_another_account_is_dead(run: Run) -> None:
    assert run([question(OLD)], table(ALIVE), Provider(), account="b").values == (question(NEW),)
    assert run([question(OLD)], table(ALIVE), Provider(), account="a").changed == ()


def test_another_living_upload_of_the_same_bytes_is_taken(run: Run) -> None:
    provider = Provider()
    other = Upload(uri=BASE + "other", expires_at=NOW + HOUR)
    refreshed = run([question(OLD)], table(EXPIRED, other), provider)
    assert refreshed.values == (question(other.uri),)
    assert provider.asked == []


def test_after_a_request_that_failed_every_uri_is_asked_for(run: Run) -> None:
    provider = Provider()
    assert run([question(OLD)], table(ALIVE), provider, recheck=True).values == (question(NEW),)
    assert provider.asked[0] == ("check", OLD)


def test_what_expires_during_the_turn_counts_as_expired(run: Run) -> None:
    soon = Upload(uri=OLD, expires_at=NOW + timedelta(minutes=1))
    assert run([question(OLD)], table(soon), Provider()).changed == (0,)
    assert run([question(OLD)], table(soon), Provider(), margin=timedelta(0)).changed == ()


def test_bytes_that_expired_under_two_names_are_uploaded_once(run: Run) -> None:
    provider = Provider()
    other = Upload(uri=BASE + "other", expires_at=NOW - HOUR)
    refreshed = run([question(OLD), question(other.uri)], table(EXPIRED, other), provider)
    assert refreshed.values == (question(NEW), question(NEW))
    assert provider.asked == [("fetch", SHA), ("upload", DATA)]


def test_links_that_do_not_expire_are_left_alone(run: Run) -> None:
    link = HumanMessage([{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}])
    provider = Provider()
    assert run([link], MediaTable(), provider).changed == ()
    assert provider.asked == []


def test_other_providers_files_are_refreshed_when_the_table_knows_them(run: Run) -> None:
    message = ToolMessage([{"type": "file", "file_id": "file-1"}], tool_call_id="t")
    refreshed = run([message], table(Upload(uri="file-1", expires_at=NOW - HOUR)), Provider())
    assert refreshed.values[0].content == [{"type": "file", "file_id": NEW}]


def test_envelopes_and_native_parts_are_rewritten_in_their_own_form(run: Run) -> None:
    native = {"role": "user", "parts": [{"fileData": {"fileUri": OLD, "mimeType": "audio/wav"}}]}
    assert run([native], table(EXPIRED), Provider()).values[0]["parts"] == [
        {"fileData": {"fileUri": NEW, "mimeType": "audio/wav"}}
    ]
    assert run([native], table(EXPIRED, store=None), Provider()).values[0]["parts"] == [
        {"text": "[audio/wav, 9 B, expired at the provider]"}
    ]


def test_a_part_that_langchain_wraps_is_renewed_within_its_wrapping(run: Run) -> None:
    def wrapped(uri: str) -> HumanMessage:
        return HumanMessage(
            [{"type": "non_standard", "value": {"fileData": {"fileUri": uri, "mimeType": "audio/wav"}}}]
        )

    assert run([wrapped(OLD)], table(EXPIRED), Provider()).values == (wrapped(NEW),)
    [gone] = run([wrapped(OLD)], table(EXPIRED, store=None), Provider()).values
    assert gone.content == [{"type": "text", "text": "[audio/wav, 9 B, expired at the provider]"}]


NOT_UPLOADS: dict[str, Any] = {
    "nothing": None,
    "a number": 3,
    "bytes": b"secret",
    "a map": {"uri": NEW},
    "no text": "",
    "blank text": " ",
    "text that UTF-8 cannot spell": "\ud800",
    "an upload without a uri": Upload(uri=None),  # type: ignore[arg-type]
    "an upload that expires at a number": Upload(uri=NEW, expires_at=1.5),  # type: ignore[arg-type]
    "an upload that expires in no zone": Upload(uri=NEW, expires_at=datetime(2026, 1, 9)),
    "an upload beyond all times": Upload(uri=NEW, expires_at=datetime.max.replace(tzinfo=timezone(-HOUR))),
    "an upload that has expired": Upload(uri=NEW, expires_at=EXPIRED.expires_at),
    "an upload of a text as time": Upload(uri=NEW, uploaded_at="2026-01-09"),  # type: ignore[arg-type]
    "an upload of a number as provider": Upload(uri=NEW, provider=5),  # type: ignore[arg-type]
    "an upload of a number as account": Upload(uri=NEW, account=5),  # type: ignore[arg-type]
    "an upload with extras that are no data": Upload(uri=NEW, extras={"x": object()}),
    "an upload with extras without names": Upload(uri=NEW, extras={1: 2}),  # type: ignore[dict-item]
}


@pytest.mark.parametrize("answer", NOT_UPLOADS.values(), ids=NOT_UPLOADS)
def test_an_answer_that_is_no_upload_is_refused(run: Run, answer: Any) -> None:
    class Odd(Provider):
        def upload(self, data: bytes, record: MediaRecord) -> Any:
            return answer

    with pytest.raises(InvalidUploadError, match="the answer of upload=") as refused:
        run([question(OLD)], table(EXPIRED), Odd())
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("answer", [None, "no", 0, 1])
def test_an_answer_that_is_neither_yes_nor_no_is_refused(run: Run, answer: Any) -> None:
    class Odd(Provider):
        def check(self, upload: Upload) -> Any:
            return answer

    with pytest.raises(InvalidUploadError, match="the answer of check="):
        run([question(OLD)], table(UNKNOWN), Odd())


@pytest.mark.parametrize("name", ["check", "upload"])
def test_a_blocking_refresh_refuses_what_has_to_be_awaited(name: str, recwarn: pytest.WarningsRecorder) -> None:
    async def answer(*arguments: Any) -> Any:
        return True

    calls: dict[str, Any] = {"check": lambda _: False, "upload": lambda *_: NEW, name: answer}
    with pytest.raises(InvalidUploadError, match=f"of {name}= is coroutine.*arefresh_uploads"):
        refresh_uploads([question(OLD)], table(UNKNOWN), now=NOW, fetch=lambda _: DATA, **calls)
    gc.collect()
    assert [str(warning.message) for warning in recwarn] == []


@pytest.mark.parametrize(
    "wrong",
    [{"upload": None}, {"upload": NEW}, {"check": True}, {"now": datetime(2026, 1, 5)}, {"now": 3}, {"account": 3}],
)
def test_wrong_arguments_of_a_refresh_are_refused_by_name(wrong: dict[str, Any]) -> None:
    given = {"now": NOW, "fetch": lambda _: DATA, "upload": lambda *_: NEW, **wrong}
    with pytest.raises(InvalidUploadError) as refused:
        refresh_uploads([question(OLD)], table(EXPIRED), **given)
    assert refused.value.field == next(iter(wrong))


def test_the_host_hears_of_every_rewritten_part(run: Run) -> None:
    heard: list[MediaReport] = []
    refreshed = run([question(OLD, OLD)], table(EXPIRED), Provider(), hooks=MediaHooks(on_expired=heard.append))
    assert tuple(heard) == refreshed.reports


def test_an_upload_that_fails_leaves_everything_as_it_was() -> None:
    class Down(Provider):
        def upload(self, data: bytes, record: MediaRecord) -> Upload | str:
            raise ConnectionError("down")

    provider = Down()
    with pytest.raises(ConnectionError):
        refresh_uploads([question(OLD)], table(EXPIRED), now=NOW, fetch=provider.fetch, upload=provider.upload)


def test_the_program_asks_in_order_of_cost() -> None:
    program = refresh_program([question(OLD)], table(UNKNOWN), now=NOW)
    assert program.send(None) == CheckUpload(UNKNOWN)
    assert isinstance(program.send(False), FetchBytes)
    assert isinstance(program.send(DATA), UploadAgain)
    with pytest.raises(StopIteration) as done:
        program.send("https://files/new")
    [record] = done.value.value.records
    assert record.uploads[-1] == Upload(uri="https://files/new", uploaded_at=NOW)


def test_without_a_check_an_upload_of_unknown_expiry_is_trusted() -> None:
    provider = Provider()
    refreshed = refresh_uploads([question(OLD)], table(UNKNOWN), now=NOW, fetch=provider.fetch, upload=provider.upload)
    assert refreshed.changed == ()


@pytest.mark.parametrize(
    ("size", "external", "limit", "keeps"),
    [(9, False, 10, True), (11, False, 10, False), (11, True, 10, True), (11, False, None, True)],
)
def test_the_bytes_of_an_upload_are_kept_where_they_fit(
    size: int, external: bool, limit: int | None, keeps: bool
) -> None:
    plan = plan_upload(
        MediaTable(),
        ALIVE,
        policy=MediaPolicy(max_inline_bytes=limit),
        external=external,
        sha256=SHA,
        mime_type="audio/wav",
        size_bytes=size,
        turn=3,
    )
    assert plan.keep_bytes is keeps
    assert plan.record.first_turn == 3
    assert plan.record.uploads == (ALIVE,)
    assert (plan.report.reason if plan.report else None) == (None if keeps else "over_inline_threshold")


def test_an_upload_of_known_bytes_joins_their_record() -> None:
    plan = plan_upload(table(EXPIRED), Upload(uri=NEW), policy=MediaPolicy(), external=False, sha256=SHA)
    assert [upload.uri for upload in plan.record.uploads] == [OLD, NEW]
    assert (plan.keep_bytes, plan.report) == (False, None)


def test_an_upload_without_bytes_is_recorded_by_its_uri() -> None:
    plan = plan_upload(MediaTable(), ALIVE, policy=MediaPolicy(), external=False)
    assert (plan.record.sha256, plan.keep_bytes, plan.report) == (None, False, None)


@pytest.mark.parametrize(
    "call",
    [
        {"type": "tool_use", "id": "c", "name": "look", "input": {"at": media(OLD)}},
        {"type": "tool_call", "id": "c", "name": "look", "args": {"at": media(OLD)}},
        {"type": "server_tool_call", "id": "c", "name": "look", "args": {"at": [media(OLD)]}},
        {"functionCall": {"name": "look", "args": {"at": media(OLD)}}},
        {"tool_calls": [{"id": "c", "name": "look", "args": {"at": media(OLD)}}]},
    ],
)
def test_what_a_model_said_in_a_call_is_not_edited(run: Run, call: dict[str, Any]) -> None:
    calls = [{"id": "c", "name": "look", "args": {"at": media(OLD)}}]
    said = AIMessage([call, media(OLD)], tool_calls=calls, id="a")
    refreshed = run([said, {"role": "assistant", "content": [call]}], table(EXPIRED), Provider())
    assert refreshed.changed == (0,)
    assert refreshed.values[0] == AIMessage([call, media(NEW)], tool_calls=calls, id="a")
    assert [report.new_uri for report in refreshed.reports] == [NEW]
