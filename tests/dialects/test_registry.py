"""Dialects by name, by recognition, and from other packages."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from langgraph_portable_checkpoint.dialects import registry
from langgraph_portable_checkpoint.dialects.base import Dialect
from langgraph_portable_checkpoint.dialects.export import export_messages, import_messages, lint
from langgraph_portable_checkpoint.errors import DialectError, UnknownDialectError
from tests.dialects.histories import user

SHOUT = '''
from langgraph_portable_checkpoint.dialects.base import Target


class Shout:
    """A dialect in one file: a list of upper-case texts."""

    name = title = "shout"
    providers = profiles = ()
    writes = True
    FIELD_MAP = RULES = LOSSES = ()

    def target(self, options):
        return Target(dialect="shout")

    def render(self, conversation, options, report):
        return {"lines": [placed.envelope["content"][0]["text"].upper() for placed in conversation]}

    def parse(self, payload, options, report):
        return [{"v": 1, "role": "user", "content": [{"type": "text", "text": line.lower()}]} for line in payload]

    def recognises(self, payload):
        loud = isinstance(payload, list) and payload and all(isinstance(one, str) and one.isupper() for one in payload)
        return 1.0 if loud else 0.0

    def lint(self, payload, options):
        return []
'''


@pytest.fixture
def other_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install a package that brings a dialect, and one that is none."""
    (tmp_path / "shout_dialect.py").write_text(SHOUT)
    info = tmp_path / "shout_dialect-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shout-dialect\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[langgraph_portable_checkpoint.dialects]\nshout = shout_dialect:Shout\nnothing = shout_dialect:SHOUT_IS_ALL\n"
    )
    with (tmp_path / "shout_dialect.py").open("a") as file:
        file.write("\nSHOUT_IS_ALL = object()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "shout_dialect", raising=False)
    registry._third_parties.cache_clear()
    registry._load.cache_clear()
    yield
    registry._third_parties.cache_clear()
    registry._load.cache_clear()


@pytest.mark.parametrize("name", registry.bundled_names())
def test_every_bundled_dialect_keeps_the_contract(name: str) -> None:
    dialect = registry.get_dialect(name)
    assert isinstance(dialect, Dialect)
    assert dialect.name == name
    assert dialect.FIELD_MAP
    assert len({rule.id for rule in dialect.RULES}) == len(dialect.RULES)


@pytest.mark.usefixtures("other_package")
def test_another_package_adds_a_dialect() -> None:
    assert "shout" in registry.dialect_names()
    export = export_messages([user("hi")], "shout")
    assert export.payload == {"lines": ["HI"]}
    assert list(export.lines()) == ['"HI"']
    with pytest.warns(UserWarning, match="'nothing' of another package was left out"):
        assert import_messages(["HI"]).dialect == "shout"
    assert lint(["HI"], "shout") == []


@pytest.mark.usefixtures("other_package")
def test_an_entry_point_that_is_no_dialect_is_named() -> None:
    with pytest.raises(DialectError, match="'nothing' is no dialect"):
        registry.get_dialect("nothing")


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UnknownDialectError, match="openai-responses, openai-chat, anthropic"):
        registry.get_dialect("antropic")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("antropic", "'anthropic'"),
        ("openai", "'openai-responses' or 'openai-chat'"),
        ("OpenAI_Chat", "'openai-chat'"),
        ("gemini", "'google'"),
        ("vertex", "'anthropic' with profile=\"vertex\" or 'google' with profile=\"vertex\""),
        ("groq", "'openai-chat' with profile=\"groq\""),
        ("xai", "'openai-responses' with profile=\"xai\" or 'openai-chat' with profile=\"compatible\""),
        ("amazon_bedrock", "'bedrock'"),
        ("claude", "'anthropic' or 'claude-code'"),
    ],
)
def test_an_unknown_name_is_told_what_it_may_mean(name: str, meant: str) -> None:
    with pytest.raises(UnknownDialectError, match=re.escape(f"Is it {meant}? There are openai-responses, ")):
        export_messages([user("hi")], name)
    for ask in (import_messages, lint):
        with pytest.raises(UnknownDialectError, match=re.escape(f"Is it {meant}? ")):
            ask([], name)


def test_a_name_like_no_other_has_no_suggestion() -> None:
    with pytest.raises(UnknownDialectError, match=r"no dialect 'qqq'\. There are openai-responses, "):
        registry.get_dialect("qqq")


def test_an_unknown_profile_is_told_what_it_may_mean() -> None:
    with pytest.raises(DialectError, match=r"no profile 'deepsek'\. Is it 'deepseek'\? It has openai, fireworks"):
        export_messages([user("hi")], "openai-chat", profile="deepsek")


@pytest.mark.parametrize("payload", [None, 1, [], {}, [1], [{"foo": 1}], {"messages": 3}, "[]", "{}"])
def test_what_no_dialect_recognises_is_refused(payload: object) -> None:
    with pytest.raises(UnknownDialectError, match="from_="):
        import_messages(payload)


@pytest.mark.usefixtures("other_package")
def test_a_dialect_of_another_package_that_fails_at_recognising_stops_nobody(tmp_path: Path) -> None:
    with (tmp_path / "shout_dialect.py").open("a") as file:
        file.write("\ndef _fail(self, payload):\n    raise KeyError('mine')\n\nShout.recognises = _fail\n")
    not_asked = pytest.warns(UserWarning, match=r"'shout' of another package was not asked: KeyError: 'mine'")
    with pytest.warns(UserWarning, match="'nothing' of another package was left out"), not_asked:
        imported = import_messages({"messages": [{"role": "developer", "content": "hi"}]})
    assert imported.dialect == "openai-chat"


@pytest.mark.usefixtures("other_package")
def test_an_entry_point_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    (tmp_path / "shout_dialect.py").write_text("import a_package_that_is_not_there\n")
    with pytest.raises(
        DialectError, match=r"'shout' \(shout_dialect:Shout\) cannot be loaded: .*a_package_that_is_not"
    ):
        export_messages([user("hi")], "shout")
