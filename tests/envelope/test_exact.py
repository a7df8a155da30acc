"""Every message comes back byte for byte, and an envelope costs little."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

import ormsgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer, _msgpack_enc

from langgraph_portable_checkpoint.envelope.exact import fields_to_envelope, from_envelope, to_envelope
from langgraph_portable_checkpoint.envelope.wire import dump_envelope, load_envelope
from tests.corpus_messages import corpus_histories
from tests.envelope.zoo import CALL, CHAT_CALL, MOMENT, hard_messages, plain_messages, spoken_messages

_PERMISSIVE = JsonPlusSerializer(allowed_msgpack_modules=True)
ZOO = {**plain_messages(), **hard_messages(), **spoken_messages()}


def _triple(message: BaseMessage) -> bytes:
    cls = message.__class__
    return bytes(_msgpack_enc([cls.__module__, cls.__name__, message.model_dump()]))


def _through_storage(message: BaseMessage) -> tuple[dict[str, Any], bytes]:
    envelope = load_envelope(dump_envelope(to_envelope(message)), where="a test")
    back = from_envelope(envelope, id=message.id, loads=lambda data: _PERMISSIVE.loads_typed(("msgpack", data)))
    return envelope, bytes(_msgpack_enc(list(back)))


@pytest.mark.parametrize("name", ZOO)
def test_a_message_comes_back_byte_for_byte(name: str) -> None:
    _, back = _through_storage(ZOO[name])
    assert back == _triple(ZOO[name])


def test_every_recorded_message_comes_back_byte_for_byte() -> None:
    for name, messages in corpus_histories().items():
        for position, message in enumerate(messages):
            assert _through_storage(message)[1] == _triple(message), f"{name} [{position}]"


def test_envelopes_of_the_corpus_cost_little(capsys: pytest.CaptureFixture[str]) -> None:
    messages = [message for history in corpus_histories().values() for message in history]
    envelopes = [to_envelope(message) for message in messages]
    ratio = sum(len(dump_envelope(one)) for one in envelopes) / sum(len(_msgpack_enc(one)) for one in messages)
    whole = sum("whole" in (one.get("state") or {}) for one in envelopes) / len(envelopes)
    with capsys.disabled():
        print(f"\n{len(messages)} messages: {ratio:.3f} of the framework's bytes, {whole:.1%} stored whole")
    assert ratio <= 1.3
    assert whole < 0.05


@pytest.mark.parametrize("name", plain_messages())
def test_everyday_messages_are_smaller_than_the_frameworks_bytes(name: str) -> None:
    message = plain_messages()[name]
    assert len(dump_envelope(to_envelope(message))) < 0.7 * len(_msgpack_enc(message))


@pytest.mark.parametrize("name", [name for name in plain_messages() if name != "human named"])
def test_everyday_messages_need_no_state(name: str) -> None:
    assert "state" not in to_envelope(plain_messages()[name])


def test_the_id_is_stored_beside_the_item() -> None:
    assert to_envelope(HumanMessage("hi", id="m1")) == to_envelope(HumanMessage("hi"))


def test_no_call_is_stored_twice() -> None:
    content = [{"type": "tool_use", "id": "call_1", "name": "search", "input": {"q": "tea", "n": 1}}]
    message = AIMessage(content, tool_calls=[CALL], additional_kwargs={"tool_calls": [CHAT_CALL]})
    assert dump_envelope(to_envelope(message)).count(b"tea") == 1


@pytest.mark.parametrize(
    "name", [name for name, message in ZOO.items() if name.split(" ")[0] not in ("content", "deep")]
)
def test_only_exotic_messages_are_stored_whole(name: str) -> None:
    assert "whole" not in (to_envelope(ZOO[name]).get("state") or {})


def test_a_message_stored_whole_still_reads_neutrally() -> None:
    message = HumanMessage("hi")
    object.__setattr__(message, "id", 7)
    with pytest.warns(UserWarning, match="field_name='id'"):
        expected = _triple(message)
    with pytest.warns(UserWarning, match="field_name='id'"):
        envelope, back = _through_storage(message)
    assert back == expected
    assert set(envelope["state"]) == {"whole"}
    assert envelope["content"] == [{"type": "text", "text": "hi"}]


def test_one_opaque_block_leaves_the_others_neutral() -> None:
    envelope = to_envelope(HumanMessage([{"type": "text", "text": "a"}, {"type": "text", "text": "b", "at": MOMENT}]))
    first, second = envelope["state"]["content"]
    assert first == "v1"
    assert isinstance(second, bytes)
    assert [block["text"] for block in envelope["content"]] == ["a", "b"]


def test_what_the_serializer_refuses_is_refused_alike() -> None:
    message = AIMessage("x", additional_kwargs={"n": 2**70})
    with pytest.raises(ormsgpack.MsgpackEncodeError):
        _msgpack_enc(message)
    with pytest.raises(ormsgpack.MsgpackEncodeError):
        to_envelope(message)


def test_strict_loading_imports_no_foreign_class() -> None:
    envelope = to_envelope(ToolMessage("x", tool_call_id="1", artifact={1}))
    assert from_envelope(envelope, id=None)[2]["artifact"] == {1}
    hostile = _msgpack_enc(ormsgpack.Ext(0, _msgpack_enc(("os", "system", "true"))))
    envelope["state"]["bytes"]["artifact"] = hostile
    assert from_envelope(envelope, id=None)[2]["artifact"] == "true"


def test_a_dump_gives_the_same_envelope_as_its_message() -> None:
    message = ZOO["chat call"]
    fields = message.model_dump()
    assert fields_to_envelope("langchain_core.messages.ai", "AIMessage", fields) == to_envelope(message)
    assert fields == message.model_dump()


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | st.binary(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_WORDS = st.sampled_from(
    [
        "type",
        "text",
        "thinking",
        "signature",
        "tool_use",
        "id",
        "name",
        "input",
        "args",
        "image_url",
        "url",
        "source",
        "data",
        "reasoning",
        "summary",
        "arguments",
        "call_id",
        "function_call",
        "functionCall",
        "toolUse",
        "reasoningContent",
        "output_text",
        "extras",
        "value",
        "cache_control",
        "v1",
        "native",
    ]
)
_BLOCKS = st.text() | st.dictionaries(_WORDS, _JSON | _WORDS | st.dictionaries(_WORDS, _JSON | _WORDS, max_size=4))
_CALLS = st.lists(
    st.fixed_dictionaries(
        {
            "type": st.just("tool_call"),
            "name": _WORDS,
            "id": st.none() | _WORDS,
            "args": st.dictionaries(_WORDS, _JSON, max_size=3),
        }
    ),
    max_size=3,
)
_KWARGS = st.dictionaries(
    st.sampled_from(["tool_calls", "reasoning", "reasoning_content", "refusal", "function_call", "x"]),
    _JSON | _BLOCKS | st.lists(_BLOCKS, max_size=2),
    max_size=3,
)
_MADE = st.builds(
    AIMessage,
    content=st.text() | st.lists(_BLOCKS, max_size=4),
    tool_calls=_CALLS,
    additional_kwargs=_KWARGS,
    response_metadata=st.dictionaries(
        st.sampled_from(["model_name", "model", "model_provider", "id", "finish_reason", "stop_reason", "x"]),
        _JSON | st.sampled_from(["openai", "google_genai", "bedrock_converse"]),
        max_size=4,
    ),
)


@settings(max_examples=150, deadline=None)
@given(_MADE)
def test_made_up_messages_come_back_byte_for_byte(message: AIMessage) -> None:
    assert _through_storage(message)[1] == _triple(message)


_SPOILS: list[Any] = [None, 0, True, 1.0, "", b"x", [], {}, {"a": 1}, {1: 2}, {1}, -0.0, {"type": "text"}, "\ud800"]


def _spoiled(value: Any, chance: Random) -> Any:
    """The value with some keys gone, new or moved, and some values replaced."""
    if chance.random() < 0.06:
        return copy.deepcopy(chance.choice(_SPOILS))
    if isinstance(value, list):
        return [_spoiled(item, chance) for item in value]
    if not isinstance(value, dict):
        return value
    keys = [key for key in value if chance.random() > 0.04]
    if chance.random() < 0.15:
        chance.shuffle(keys)
    return {key: _spoiled(value[key], chance) for key in keys}


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(ZOO)), st.randoms(use_true_random=False))
def test_spoiled_dumps_come_back_byte_for_byte(name: str, chance: Random) -> None:
    fields = {key: _spoiled(value, chance) for key, value in ZOO[name].model_dump().items() if key != "id"}
    module, class_name = ZOO[name].__class__.__module__, ZOO[name].__class__.__name__
    envelope = load_envelope(dump_envelope(fields_to_envelope(module, class_name, fields)), where="a test")
    back = from_envelope(envelope, id=None, loads=lambda data: _PERMISSIVE.loads_typed(("msgpack", data)))
    assert _msgpack_enc(list(back)) == _msgpack_enc([module, class_name, fields])
