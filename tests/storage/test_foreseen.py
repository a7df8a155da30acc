"""What a message will be read back as, told before it is read: as decoding gives it, or not at all."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from langgraph_portable_checkpoint.envelope.exact import to_envelope
from langgraph_portable_checkpoint.storage.codec import STRICT, native_encode
from langgraph_portable_checkpoint.storage.items import pack, unpack
from langgraph_portable_checkpoint.storage.messages import foreseen
from langgraph_portable_checkpoint.transfer.comparing import difference
from tests.corpus_messages import corpus_histories
from tests.envelope.zoo import hard_messages, plain_messages, spoken_messages

CALL: dict[str, Any] = {"name": "look", "args": {"q": "tea", "n": [1, None, 1.5]}, "id": "c", "type": "tool_call"}
USAGE = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
EVERYDAY: dict[str, BaseMessage] = {
    "question": HumanMessage("hi", id="a"),
    "instruction": SystemMessage("be brief", name="n"),
    "answer": AIMessage("hi", response_metadata={"model_name": "m", "logprobs": None}, usage_metadata=USAGE),
    "call": AIMessage("", tool_calls=[CALL], additional_kwargs={"refusal": None}),
    "result": ToolMessage("tea", tool_call_id="c", status="error"),
}
ODD: tuple[Any, ...] = (
    None, 0, 1, True, 1.5, float("nan"), "", "x", "\ud800", b"x", 2**64, -(2**63), (), ("x",), [], ["x"], [1], {}, {"a": 1},
    {1: "a"}, {"a": (1,)}, {"tool_calls": []}, {"tool_calls": [{"id": "c", "function": {"name": "n", "arguments": "{}"}}]}, {"a": {1, 2}}, [CALL], (CALL,), [{**CALL, "id": 5}],
    [{**CALL, "type": "other"}], [dict(reversed(CALL.items()))], [{**CALL, "extras": {}}], [{"name": "n", "args": {}, "id": None}],
    [{**CALL, "args": "x"}], [{**CALL, "args": {"a": (1,)}}], [{**CALL, "name": None}], USAGE, dict(reversed(USAGE.items())),
    {**USAGE, "input_tokens": "1"}, {**USAGE, "input_tokens": True}, {**USAGE, "input_token_details": {"cache_read": 1}},
    {**USAGE, "more": 1}, "success", "error", "human", "ai", "AIMessageChunk", object(), [[]], [{}], Exception("x"),
)  # fmt: skip


def _wrong(messages: Iterable[BaseMessage]) -> list[str]:
    """Say where what is foreseen differs from what decoding gives."""
    found = []
    for message in messages:
        prototype = foreseen(message)
        if prototype is None:
            continue
        made, read = prototype.copy(message.id), STRICT.loads_typed(("msgpack", native_encode(message)))
        envelope = to_envelope(message)
        for what, left, right in (
            ("message", made, read),
            ("fields set", made.model_fields_set, read.model_fields_set),
            ("envelope", envelope, unpack(pack(envelope))),
        ):
            if (differs := difference(left, right, what)) is not None:
                found.append(f"{message!r:.200}: {differs}")
    return found


def _odd(value: Any) -> Any:
    return value if isinstance(value, Exception) or type(value) is object else copy.deepcopy(value)


def _changed() -> Iterable[BaseMessage]:
    for base in EVERYDAY.values():
        for name in base.__dict__:
            for value in ODD:
                yield base.model_copy(update={name: _odd(value)})
        for value in ODD:
            yield base.model_copy(update={"more": _odd(value)})
        without = base.model_copy()
        del without.__dict__["name"]
        yield without


@pytest.mark.parametrize("name", EVERYDAY)
def test_everyday_messages_are_foreseen(name: str) -> None:
    assert foreseen(EVERYDAY[name]) is not None
    assert _wrong([EVERYDAY[name]]) == []


def test_any_odd_value_in_any_field_is_foreseen_rightly_or_not_at_all() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # pydantic's, at values of the wrong type
        assert _wrong(_changed()) == []


def test_recorded_and_hard_messages_are_foreseen_rightly_or_not_at_all() -> None:
    recorded = [message for history in corpus_histories().values() for message in history]
    assert _wrong(recorded) == []
    assert any(foreseen(message) is not None for message in recorded)
    for some in (plain_messages(), hard_messages(), spoken_messages()):
        assert _wrong(some.values()) == []


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | st.binary(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(
    text=st.text(),
    args=st.dictionaries(st.text(max_size=4), _JSON, max_size=3),
    metadata=st.dictionaries(st.sampled_from(["a", "tool_calls", "model_name"]), _JSON, max_size=2),
)
def test_any_json_in_a_call_is_foreseen_as_it_is_read(text: str, args: Any, metadata: Any) -> None:
    calls = [{**CALL, "args": args}]
    call = AIMessage(text, tool_calls=calls, response_metadata=metadata, additional_kwargs={})
    assert foreseen(call) is not None
    assert _wrong([call, ToolMessage(text, tool_call_id="c", additional_kwargs=metadata)]) == []
