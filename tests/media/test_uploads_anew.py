"""A file that is recorded once more with other bytes, and bytes of uploads that a policy does not let be kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from langgraph_portable_checkpoint import MediaPolicy, PortableRedisSaver
from langgraph_portable_checkpoint.errors import MediaTooLargeError
from tests.media.test_thread_media import ONE, TWO, part, sha256
from tests.saver.checkpoints import checkpoint
from tests.servers import Room

URI = "https://generativelanguage.googleapis.com/v1beta/files/plan"
WHERE: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
PAST = datetime.now(UTC) - timedelta(days=1)
NAMED = {"type": "image", "url": URI, "mime_type": "image/png"}


def opened(server: Room, **options: Any) -> PortableRedisSaver:
    saver = PortableRedisSaver.from_url(server.url, prefix=server.prefix, **options)
    if saver.get_tuple(WHERE) is None:
        saver.put(WHERE, checkpoint({"messages": [HumanMessage([part(ONE), NAMED], id="q")]}), {}, {"messages": 1})
    return saver


@pytest.mark.parametrize("again", [{}, {"media_policy": MediaPolicy(max_inline_bytes=10)}, {"media_policy": "strip"}])
@pytest.mark.parametrize("apart", [False, True])
def test_other_bytes_under_a_uri_are_a_medium_of_their_own(
    server: Room, tmp_path: Path, apart: bool, again: dict[str, Any]
) -> None:
    store = {"media_store": tmp_path} if apart else {}
    with opened(server, **store) as saver:
        saver.record_upload("t", URI, data=ONE, mime_type="image/png", expires_at=PAST)
    with opened(server, **store, **again) as saver:
        record = saver.record_upload("t", URI, data=TWO, mime_type="image/png", expires_at=PAST)
        assert record.sha256 == sha256(TWO)
    sent: list[bytes] = []
    with opened(server, **store) as saver:
        uploads = {one.sha256: [upload.uri for upload in one.uploads] for one in saver.media_table("t")}
        assert uploads == {sha256(ONE): [], sha256(TWO): [URI]}
        refreshed = saver.refresh_uploads("t", upload=lambda data, _: sent.append(data) or f"{URI}-new")  # type: ignore[func-returns-value]
        found = saver.get_tuple(WHERE)
    kept = not again or (apart and again != {"media_policy": "strip"})
    assert sent == ([TWO] if kept else [])
    assert [report.reason for report in refreshed.reports] == ["expired_reuploaded" if kept else "expired_no_bytes"]
    assert found is not None
    assert found.checkpoint["channel_values"]["messages"][0].content[0] == part(ONE)


@pytest.mark.parametrize(
    "policy",
    [
        MediaPolicy(mode="strip"),
        MediaPolicy(preserve_media=False),
        MediaPolicy(rules={"audio/*": "strip"}),
    ],
)
def test_bytes_that_a_policy_strips_are_not_kept_for_an_upload(server: Room, policy: MediaPolicy) -> None:
    with opened(server, media_policy=policy) as saver:
        saver.record_upload("t", URI, data=TWO, mime_type="audio/wav", expires_at=PAST)
        [report] = [one for one in saver.media_report("t") if one.sha256 == sha256(TWO)]
        assert (report.reason, report.uri) == ("stripped", URI)
        [record] = [one for one in saver.media_table("t") if one.uploads]
        assert record.store is None
    keys = server.keys()
    with server.client() as client:
        assert all(TWO not in client.dump(key) for key in keys)


def test_bytes_that_are_too_large_are_refused_and_nothing_is_remembered(server: Room) -> None:
    with opened(server) as saver:
        before = [*saver.media_table("t")]
    with opened(server, media_policy=MediaPolicy(max_bytes=3000)) as saver:
        with pytest.raises(MediaTooLargeError):
            saver.record_upload("t", URI, data=TWO, mime_type="image/png")
        assert [*saver.media_table("t")] == before
