"""Every envelope, stored or read, is what the published schema says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from langchain_core.messages import BaseMessage

from langgraph_portable_checkpoint.envelope.exact import to_envelope
from langgraph_portable_checkpoint.envelope.model import BLOCK_TYPES, ROLES, Block, MessageEnvelope
from langgraph_portable_checkpoint.envelope.read import read_message
from langgraph_portable_checkpoint.envelope.wire import json_view
from tests.corpus_messages import corpus_histories
from tests.envelope.zoo import hard_messages, plain_messages, spoken_messages

SCHEMA = json.loads(
    (files("langgraph_portable_checkpoint.envelope") / "schemas/message-envelope.schema.json").read_text()
)
VALIDATOR = Draft202012Validator(SCHEMA)
ZOO = {**plain_messages(), **hard_messages(), **spoken_messages()}
GOOD: dict[str, Any] = {"v": 1, "role": "user", "content": [{"type": "text", "text": "hi"}]}


def _problems(message: BaseMessage) -> Iterator[str]:
    for envelope in (to_envelope(message), read_message(message)):
        view = json_view(envelope)
        assert json.loads(json.dumps(view, allow_nan=False)) == view
        yield from (f"{problem.json_path}: {problem.message:.200}" for problem in VALIDATOR.iter_errors(view))


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", ZOO)
def test_envelopes_of_the_zoo_are_valid(name: str) -> None:
    assert not list(_problems(ZOO[name]))


def test_envelopes_of_the_corpus_are_valid() -> None:
    for name, messages in corpus_histories().items():
        assert not [problem for message in messages for problem in _problems(message)], name


@pytest.mark.parametrize(
    "change",
    [
        {"v": 2},
        {"role": "ai"},
        {"content": "hi"},
        {"content": [{"type": "hologram"}]},
        {"content": [{"type": "text"}]},
        {"content": [{"type": "tool_call", "args": "{}"}]},
        {"content": [{"type": "non_standard"}]},
        {"content": [{"type": "text", "text": "hi", "extras": []}]},
        {"status": "fine"},
        {"origin": "openai"},
        {"state": {"whole": "AA==", "content": "v1"}},
        {"state": {"content": [7]}},
    ],
)
def test_what_is_no_envelope_is_invalid(change: dict[str, Any]) -> None:
    assert VALIDATOR.is_valid(GOOD)
    assert not VALIDATOR.is_valid({**GOOD, **change})


def test_unknown_fields_are_valid() -> None:
    assert VALIDATOR.is_valid({**GOOD, "mood": 1, "content": [{"type": "text", "text": "hi", "mood": 1}]})


def test_schema_and_vocabulary_name_the_same_words() -> None:
    block = SCHEMA["$defs"]["block"]["properties"]
    memory_only = {"raw", "raw_content"}
    assert tuple(SCHEMA["properties"]["role"]["enum"]) == ROLES
    assert tuple(block["type"]["enum"]) == BLOCK_TYPES
    assert SCHEMA["properties"].keys() == MessageEnvelope.__annotations__.keys() - memory_only
    assert block.keys() | {"args", "output", "value"} == Block.__annotations__.keys() - memory_only
