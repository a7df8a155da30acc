"""What a saver is told about media is refused when the saver is made, in words that say what to pass instead."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from langgraph_portable_checkpoint import DirectoryMediaStore, MediaHooks, MediaPolicy, PortableRedisSaver
from tests.media.test_policy import IMAGE, REMOVED
from tests.saver.calls import Calls
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.saver.conftest import SaverFactory
from tests.saver.conftest import calls as calls
from tests.saver.conftest import make_saver as make_saver

NOWHERE = "redis://localhost:1"


def made(**options: Any) -> PortableRedisSaver:
    return PortableRedisSaver.from_url(NOWHERE, **options)


@pytest.mark.parametrize(
    "url", ["s3://bucket/prefix", "gs://b", "az://b", "file:///media/x", "HTTPS://h/x", Path("s3://bucket")]
)
def test_a_url_is_no_folder(url: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"ObjectMediaStore\.from_url"):
        made(media_store=url)
    assert list(tmp_path.iterdir()) == []


def test_a_path_may_begin_at_home_or_have_a_colon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert made(media_store="~/media").media_store.path == tmp_path / "media"
    assert made(media_store=Path("~/media")).media_store.path == tmp_path / "media"
    assert made(media_store="./s3:/x").media_store.path == Path("s3:/x").absolute()
    assert made(media_store="a:b").media_store.path == Path("a:b").absolute()
    assert made(media_store=".").media_store.path == Path().absolute()


def test_a_relative_folder_stays_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    stores = [made(media_store="./media").media_store, DirectoryMediaStore("media")]
    monkeypatch.chdir("elsewhere")
    for number, store in enumerate(stores):
        data = bytes([number]) * 9
        ref = store.put(hashlib.sha256(data).hexdigest(), None, data)
        assert (tmp_path / "media" / ref).is_file()
    assert list((tmp_path / "elsewhere").iterdir()) == []


class Half:
    def put(self, sha256: str, mime_type: str | None, data: bytes) -> str:
        return sha256


@pytest.mark.parametrize(
    ("store", "error", "words"),
    [
        ("", ValueError, "Name a folder"),
        (__file__, ValueError, "no folder"),
        (b"media", TypeError, "bytes"),
        (DirectoryMediaStore, TypeError, "the class DirectoryMediaStore, not an object"),
        (Half(), TypeError, r"Half.*put\(\) and get\(\)"),
        (5, TypeError, "int"),
        (True, TypeError, "bool"),
    ],
)
def test_what_is_no_store_is_refused(store: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        made(media_store=store)


class Named(Half):
    def __init__(self, name: str) -> None:
        self.name = name

    def get(self, ref: str) -> bytes:
        raise LookupError(ref)


class AwaitedAndNamed:
    name = "redis"

    async def aput(self, sha256: str, mime_type: str | None, data: bytes) -> str:
        return sha256

    async def aget(self, ref: str) -> bytes:
        raise LookupError(ref)


@pytest.mark.parametrize("store", [Named("redis"), Named(""), Named("caf\udce9"), AwaitedAndNamed()])
def test_a_store_has_a_name_by_which_its_media_are_found(store: Any) -> None:
    with pytest.raises(ValueError, match="the media store's name is"):
        made(media_store=store)


def test_any_other_name_is_taken() -> None:
    for name in ("Redis", "redis-media", "caf\xe9", "\N{BOWL OF HYGIEIA}"):
        assert made(media_store=Named(name))._core.store == name


class Awaited:
    async def aput(self, sha256: str, mime_type: str | None, data: bytes) -> str:
        return sha256

    async def aget(self, ref: str) -> bytes:
        return b""


def test_a_store_may_be_awaited_only() -> None:
    store = Awaited()
    assert made(media_store=store).media_store is store
    assert made(media_store=None).media_store is None


@pytest.mark.parametrize("seconds", [0, -1, 0.0, None, "30", True, float("nan"), float("inf"), 1e30])
def test_a_time_that_nobody_can_wait_is_refused(seconds: Any) -> None:
    with pytest.raises(ValueError, match=r"media_timeout_seconds is .*positive number of seconds"):
        made(media_timeout_seconds=seconds)


def test_no_hooks_are_hooks() -> None:
    assert made(media_hooks=None).media_hooks == MediaHooks()


@pytest.mark.parametrize("hooks", [{"on_missing": print}, print, MediaHooks])
def test_what_are_no_hooks_is_refused(hooks: Any) -> None:
    with pytest.raises(TypeError, match=r"MediaHooks\(on_missing"):
        made(media_hooks=hooks)


@pytest.mark.parametrize("policy", ["strip", {"mode": "strip"}, {"preserve_media": False}, MediaPolicy(mode="strip")])
def test_a_saver_takes_its_policy_as_a_config_does(make_saver: SaverFactory, calls: Calls, policy: Any) -> None:
    saver = make_saver(media_policy=policy)
    calls.put(saver, config("t"), checkpoint({"shots": [IMAGE]}), metadata(), {"shots": 1})
    found = calls.get_tuple(saver, config("t"))
    assert found is not None
    assert found.checkpoint["channel_values"]["shots"] == [REMOVED]


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ("bogus", "mode"),
        ({"mode": ["strip"]}, "mode"),
        ({"sizes": 1}, "not a media policy"),
        (MediaPolicy, "not a media policy"),
        (5, "not a media policy"),
        ({"rules": None}, "rules: None is not a map"),
        ({"rules": [("image/*", "strip")]}, "rules"),
        ({"rules": {"image/*": {}}}, "rules"),
        ({"preserve_media": "no"}, "preserve_media: 'no' is neither True nor False"),
        ({"preserve_media": 0}, "preserve_media"),
        ({"preserve_media": None}, "preserve_media"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused_wherever_it_is_given(
    make_saver: SaverFactory, calls: Calls, policy: Any, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        made(media_policy=policy)
    asking = config("t")
    asking["configurable"]["media_policy"] = policy
    with pytest.raises(ValueError, match=words):
        calls.put(make_saver(), asking, checkpoint({"shots": [IMAGE]}), metadata(), {"shots": 1})
