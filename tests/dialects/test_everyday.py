"""The first rows of exports and imports give what the general code gives: with them switched off, nothing changes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage, messages_from_dict, messages_to_dict

from langgraph_portable_checkpoint import export_messages, import_messages
from langgraph_portable_checkpoint.dialects import (
    anthropic_write,
    arguments,
    bedrock,
    bedrock_write,
    chat_write,
    google_read,
    google_write,
    jsonl,
    langchain,
    mistral_write,
    normalise,
    pairing,
    parts,
    problems,
    read_types,
    responses_write,
)
from langgraph_portable_checkpoint.dialects.export import read_messages
from langgraph_portable_checkpoint.dialects.jsonl import MAX_DEPTH, too_deep
from langgraph_portable_checkpoint.dialects.langchain_read import everyday_envelope
from langgraph_portable_checkpoint.dialects.langchain_write import everyday_dict
from langgraph_portable_checkpoint.dialects.media_facts import settled
from langgraph_portable_checkpoint.dialects.plain_values import is_everyday
from langgraph_portable_checkpoint.dialects.registry import bundled_names, get_dialect
from langgraph_portable_checkpoint.envelope import write
from langgraph_portable_checkpoint.envelope.write import write_message, write_parts
from langgraph_portable_checkpoint.errors import PortableCheckpointError
from tests.dialects import made

WRITING = [name for name in bundled_names() if get_dialect(name).writes]


def said_by(role: str, *blocks: st.SearchStrategy[Any], **keys: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Messages of few blocks, with and without each key."""
    fixed = {"v": st.just(1), "role": st.just(role), "content": st.lists(st.one_of(*blocks), max_size=3)}
    known = {"id": made.TEXTS, "name": made.NAMES, "raw_content": made.TEXTS, "origin": made.ORIGINS}
    return st.fixed_dictionaries(fixed, optional={**known, **keys})


EVERYDAY = st.lists(
    said_by("user", made.TEXT)
    | said_by("assistant", made.TEXT, made.CALL)
    | said_by("tool", made.TEXT, tool_call_id=made.IDS, status=st.sampled_from(["success", "error"]))
    | said_by("system", made.TEXT),
    max_size=5,
)


RAW = st.sampled_from(
    [
        {"type": "text", "text": "native"},
        {"type": "output_text", "text": "native", "annotations": []},
        {"type": "tool_use", "id": "n", "name": "f", "input": {}},
        {"type": "function_call", "id": "fc_1", "call_id": "n", "name": "f", "arguments": "{}"},
        {"type": "function", "id": "n", "function": {"name": "f", "arguments": "{}"}},
    ]
)


def with_raw(block: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Blocks, some of them with a native form or an origin of their own."""
    return st.builds(lambda one, more: {**one, **more}, block, st.fixed_dictionaries({}, optional={"raw": RAW})) | (
        st.builds(lambda one, raw, origin: {**one, "raw": raw, "origin": origin}, block, RAW, made.ORIGINS)
    )


NOTES = st.fixed_dictionaries(
    {},
    optional={
        "origin": made.ORIGINS,
        "extras": st.just({"openai-responses": {"type": "function_call_output", "status": "completed"}}),
    },
)
"""What may stand in a message or a block beside what first rows know."""


@st.composite
def turns(draw: st.DrawFn) -> list[Any]:
    """Turns as nearly all histories have them: each call has an id of its own and its result, in order.

    Some messages and blocks have notes, some blocks a native form.
    """
    noted = draw(st.booleans())

    def notes() -> dict[str, Any]:
        return draw(NOTES) if noted and draw(st.booleans()) else {}

    history: list[Any] = []
    for turn in range(draw(st.integers(1, 3))):
        history.append(draw(said_by("user", made.TEXT)))
        calls = draw(st.lists(made.CALL, max_size=2))
        ids = [f"{call['id']}{turn}{at}" for at, call in enumerate(calls)]
        asked = [{**call, "id": one, **notes()} for call, one in zip(calls, ids, strict=True)]
        said = [{**text, **notes()} for text in draw(st.lists(with_raw(made.TEXT) if noted else made.TEXT, max_size=1))]
        history.append({**draw(said_by("assistant", made.TEXT)), "content": [*said, *asked], **notes()})
        answer = said_by("tool", with_raw(made.TEXT) if noted else made.TEXT, name=made.NAMES)
        history += [{**draw(answer), "tool_call_id": one, **notes()} for one in ids]
    return history


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "incomplete": st.sampled_from(["drop", "trim", "synthesize"]),
        "orphans": st.sampled_from(["drop", "text"]),
        "reasoning": st.sampled_from(["same-origin", "drop", "text"]),
        "for_next_turn": st.booleans(),
    },
)


class Everything(normalise.Traits):
    """Traits of a history that may have anything, so that no step is skipped."""

    @classmethod
    def of(cls, conversation: Any) -> normalise.Traits:
        roles = frozenset({"user", "assistant", "tool", "system", "other"})
        types = frozenset({"tool_call", "image", "reasoning", "server_tool_call"})
        return normalise.Traits(roles, types, frozenset({"name", "status", "extras"}))


def without_first_rows(patch: pytest.MonkeyPatch) -> None:
    """Switch the first rows off."""
    patch.setattr(normalise, "Traits", Everything)
    patch.setattr(parts.Parts, "_lets_be", lambda self, block, answers: False)
    patch.setattr(pairing, "_in_order", lambda conversation: None)
    patch.setattr(langchain, "everyday_dict", lambda envelope: None)
    patch.setattr(write, "write_parts", lambda envelope: None)
    for module in (anthropic_write, bedrock_write, chat_write, mistral_write, responses_write):
        patch.setattr(module, "plain_text", lambda envelope, foreign=False: None)
    for writer in (chat_write, mistral_write, responses_write):
        patch.setattr(writer, "text_and_calls", lambda envelope, foreign=False: None)
    patch.setattr(google_write.Writer, "_plain", lambda self, block: None)


def outcome(history: Any, dialect: str, options: dict[str, Any]) -> str:
    """Spell an export, or its error, so that the order of keys counts."""
    try:
        export = export_messages(history, dialect, **options)
    except PortableCheckpointError as error:
        return f"{type(error).__name__}: {error}"
    return repr((export.payload, export.report, export.pending))


@pytest.mark.parametrize("dialect", WRITING)
@settings(max_examples=60, suppress_health_check=[HealthCheck.differing_executors])
@given(history=made.HISTORIES | EVERYDAY | turns(), options=OPTIONS)
def test_exports_are_the_same_without_first_rows(dialect: str, history: Any, options: dict[str, Any]) -> None:
    quick = outcome(history, dialect, options)
    with pytest.MonkeyPatch.context() as patch:
        without_first_rows(patch)
        assert outcome(history, dialect, options) == quick


def without_first_rows_of_reading(patch: pytest.MonkeyPatch) -> None:
    """Switch the first rows of imports off."""
    for module in (bedrock, google_read, jsonl, problems):
        patch.setattr(module, "made_of_json", lambda value, depth, leaves=None: False)
    patch.setattr(read_types, "_all_known", lambda envelopes, kinds: False)
    patch.setattr(langchain, "everyday_envelope", lambda native: None)


def imported(payload: Any, dialect: str) -> str:
    """Spell an import, or its error, so that the order of keys counts."""
    try:
        found = import_messages(payload, dialect)
    except PortableCheckpointError as error:
        return f"{type(error).__name__}: {error}"
    return repr((found.envelopes, found.report, found.origin))


def same_without_first_rows(payload: Any, dialect: str) -> bool:
    """True if an import is the same with its first rows switched off."""
    quick = imported(deepcopy(payload), dialect)
    with pytest.MonkeyPatch.context() as patch:
        without_first_rows_of_reading(patch)
        return imported(payload, dialect) == quick


@pytest.mark.parametrize("dialect", WRITING)
@settings(max_examples=60, suppress_health_check=[HealthCheck.differing_executors])
@given(history=made.HISTORIES | EVERYDAY | turns())
def test_imports_are_the_same_without_first_rows(dialect: str, history: Any) -> None:
    try:
        payload = export_messages(history, dialect, incomplete="synthesize", orphans="text").payload
    except PortableCheckpointError:
        return
    assert same_without_first_rows(payload, dialect)


ASKED = {"type": "tool_call", "id": "c1", "name": "f", "args": {"x": [1, 2.5, None], "y": {"z": "w"}}}
SAID = {"type": "text", "text": "hü"}
TALK: list[Any] = [
    {"v": 1, "role": "system", "content": [SAID]},
    {"v": 1, "role": "user", "content": [SAID], "id": "u", "name": "ada"},
    {"v": 1, "role": "assistant", "content": [SAID, ASKED, {**ASKED, "id": "c2"}]},
    {"v": 1, "role": "tool", "content": [SAID], "tool_call_id": "c1", "name": "f", "status": "success"},
    {"v": 1, "role": "tool", "content": [SAID], "tool_call_id": "c2", "name": "f", "status": "error"},
    {"v": 1, "role": "assistant", "content": [SAID]},
]
"""What first rows know."""
ODD: list[Any] = [
    None,
    "",
    "ü",
    "f",
    "tool",
    "user",
    "error",
    "\ud800",
    {},
    {"type": "text"},
    [],
    ["x"],
    [[]],
    1,
    2**70,
    1.5,
    True,
]
"""What may stand where something else should."""


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each place within a value."""
    pairs = [*value.items()] if isinstance(value, dict) else [*enumerate(value)] if isinstance(value, list) else []
    for key, item in pairs:
        yield (*path, key)
        yield from places(item, (*path, key))


def changed(payload: Any, path: tuple[Any, ...]) -> Iterator[Any]:
    """Yield a payload with each odd value in a place, with nothing there, and with a further key beside it."""
    *inside, key = path
    for odd in [*ODD, "gone", "beside"]:
        whole = holder = deepcopy(payload)
        for one in inside:
            holder = holder[one]
        if odd == "beside" and isinstance(holder, dict):
            holder["beside"] = odd
        elif odd == "gone":
            del holder[key]
        else:
            holder[key] = odd
        yield whole


@pytest.mark.parametrize("dialect", WRITING)
def test_first_rows_leave_whatever_is_odd_to_the_general_code(dialect: str) -> None:
    payload = deepcopy(export_messages(TALK, dialect).payload)
    for path in places(payload):
        for one in changed(payload, path):
            assert same_without_first_rows(one, dialect), path


OWN = {"provider": "openai", "api": "responses"}
ORIGINS: list[Any] = [
    None,
    {},
    OWN,
    {"provider": "openai", "api": "chat"},
    {"provider": "anthropic", "api": "messages"},
]
ITEM = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "c1",
    "name": "f",
    "arguments": '{"x": 1}',
    "status": "completed",
}
FORMS: list[dict[str, Any]] = [
    {},
    {"raw": ITEM},
    {"extras": {"item_id": "fc_1"}},
    {"raw": ITEM, "extras": {"item_id": "fc_1"}},
]


@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize("of_block", ORIGINS)
@pytest.mark.parametrize("form", FORMS)
def test_native_forms_count_where_they_did_without_first_rows(origin: Any, of_block: Any, form: dict[str, Any]) -> None:
    call = {"type": "tool_call", "id": "c1", "name": "f", "args": {"x": 1}, **form}
    text = {"type": "text", "text": "a", **({"raw": {"type": "output_text", "text": "n"}} if "raw" in form else {})}
    if of_block is not None:
        call["origin"] = of_block
    history: list[Any] = [
        {"v": 1, "role": "user", "content": [text]},
        {"v": 1, "role": "assistant", "content": [text, call]},
        {"v": 1, "role": "tool", "content": [text], "tool_call_id": "c1", "status": "success"},
        {"v": 1, "role": "assistant", "content": [text]},
    ]
    history = [message if origin is None else {**message, "origin": origin} for message in history]
    for dialect in WRITING:
        quick = outcome(history, dialect, {})
        with pytest.MonkeyPatch.context() as patch:
            without_first_rows(patch)
            assert outcome(history, dialect, {}) == quick, dialect


@given(EVERYDAY)
def test_an_everyday_message_is_what_langchain_makes_of_it(history: Any) -> None:
    for envelope in history:
        found = everyday_dict(envelope)
        assert found is None or [found] == messages_to_dict([write_message(envelope)])


@given(made.HISTORIES | turns())
def test_a_message_written_by_its_parts_is_what_langchain_makes_of_it(history: Any) -> None:
    for envelope in history:
        found = write_parts(envelope)
        assert found is None or [found] == [one["data"] for one in messages_to_dict([write_message(envelope)])]


def test_signed_reasoning_and_pictures_are_written_by_their_parts() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    use = {"type": "tool_use", "id": "c", "name": "f", "input": {"x": 1}}
    facts: Any = {
        "response_metadata": {"model_provider": "anthropic", "model_name": "claude-sonnet-4-5", "score": 1},
        "usage_metadata": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
    }
    picture = {"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"}
    call: Any = {"name": "f", "args": {"x": 1}, "id": "c", "type": "tool_call"}
    history: list[Any] = [
        HumanMessage([{"type": "text", "text": "h\u00fc"}, picture], id="q"),
        AIMessage([thought, use], tool_calls=[call], id="a", **facts),
        ToolMessage([picture], tool_call_id="c", name="f", status="error", artifact={"n": 1}),
    ]
    assert [write_parts(envelope) for envelope in read_messages(history)] == [
        one["data"] for one in messages_to_dict(history)
    ]


@pytest.mark.parametrize("name", ["details", "texts"])
def test_counts_that_langchain_would_read_are_left_to_it(name: str) -> None:
    usage: Any = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3 if name == "details" else "3"}
    if name == "details":
        usage["input_token_details"] = {"cache_read": 1}
    said = {"type": "text", "text": "hi", "raw": {"type": "text", "text": "hi"}}
    assert write_parts({"v": 1, "role": "assistant", "content": [said], "usage": usage}) is None


def test_texts_calls_and_results_are_everyday() -> None:
    call = {"type": "tool_call", "id": "c", "name": "f", "args": {"x": [1, 2.5, None]}}
    said = {"type": "text", "text": "hü"}
    history: list[Any] = [
        {"v": 1, "role": "system", "content": [said]},
        {"v": 1, "role": "user", "content": [said], "id": "u", "raw_content": "hü"},
        {"v": 1, "role": "assistant", "content": [said, call], "name": "a"},
        {"v": 1, "role": "tool", "content": [said], "tool_call_id": "c", "status": "error"},
    ]
    found = [everyday_dict(envelope) for envelope in history]
    assert found == messages_to_dict([write_message(envelope) for envelope in history])


def test_calls_that_share_an_id_are_not_everyday() -> None:
    calls = [{"type": "tool_call", "id": "c", "name": "f", "args": {"x": number}} for number in (1, 2)]
    envelope: Any = {"v": 1, "role": "assistant", "content": calls}
    assert everyday_dict(envelope) is None
    assert read_messages([write_message(envelope)])[0]["content"] == calls


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(max_size=2) | st.just(b""),
    lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=8,
)


@given(VALUES)
def test_everyday_values_are_what_json_holds(value: Any) -> None:
    if is_everyday(value):
        assert json.loads(json.dumps(value, ensure_ascii=False, allow_nan=False).encode()) == value


def spelled(spell: Callable[[Any], str], value: Any) -> str:
    try:
        return spell(value)
    except (TypeError, ValueError) as error:
        return repr(error)


@given(VALUES)
def test_arguments_are_spelled_as_an_encoder_of_their_own_spells_them(value: Any) -> None:
    encoder = json.JSONEncoder(ensure_ascii=False, default=arguments._no_form)
    assert spelled(arguments._spell, value) == spelled(encoder.encode, value)


def test_arguments_that_hold_themselves_are_refused_as_such() -> None:
    value: dict[str, Any] = {}
    value["own"] = [value]
    assert spelled(arguments._spell, value) == "ValueError('Circular reference detected')"
    assert spelled(arguments._spell, {"a": [1, {"b": "ü"}]}) == '{"a": [1, {"b": "ü"}]}'


def test_values_nested_beyond_everyday_are_left_to_a_trial() -> None:
    value: Any = 1
    for _ in range(50):
        value = [value]
    assert not is_everyday(value)
    assert is_everyday({"a": [{"b": [1, 2.5, "x", None, True]}]})


@example("AbZ0====")
@given(st.text(st.sampled_from("AbZ09+/=-_ \nü="), max_size=12))
def test_base64_is_what_its_alphabet_and_padding_say(encoded: str) -> None:
    fits = len(encoded) % 4 == 0 and re.fullmatch("[A-Za-z0-9+/]+={0,2}", encoded) is not None
    found, readable = settled({"type": "image", "base64": encoded})
    assert (readable and found.get("base64") == encoded) == fits


def nested(depth: int, wrap: Callable[[Any], Any]) -> Any:
    """Nest a container in containers."""
    value: Any = []
    for _ in range(depth):
        value = wrap(value)
    return value


def wraps() -> Iterator[Callable[[Any], Any]]:
    """Yield ways to nest: a chain, and one where each level stands twice in the next."""
    yield lambda inner: [inner]
    yield lambda inner: {"a": inner, "b": inner}
    yield lambda inner: [inner, inner, inner]


@pytest.mark.parametrize("wrap", list(wraps()))
def test_depth_is_told_exactly_and_soon(wrap: Callable[[Any], Any]) -> None:
    assert not too_deep(nested(MAX_DEPTH, wrap))
    assert too_deep(nested(MAX_DEPTH + 1, wrap))


def test_a_value_that_holds_itself_several_times_is_too_deep_soon() -> None:
    value: list[Any] = [1]
    value += [value, value, {"a": value}]
    assert too_deep(value)


@given(made.HISTORIES | turns())
def test_messages_of_parts_are_read_as_langchain_makes_them(history: Any) -> None:
    natives = messages_to_dict([write_message(envelope) for envelope in history])
    try:
        told = json.loads(json.dumps(natives))
    except (TypeError, ValueError):
        return
    quick = imported({"messages": told}, "langchain")
    with pytest.MonkeyPatch.context() as patch:
        without_first_rows_of_reading(patch)
        assert imported({"messages": told}, "langchain") == quick


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("additional_kwargs", {"route": "b"}),
        ("usage_metadata", {"input_tokens": "1", "output_tokens": 2, "total_tokens": 3}),
        ("usage_metadata", {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3, "input_token_details": {}}),
        ("tool_calls", [{"id": "c", "name": "f", "args": {}, "type": "tool_call"}]),
        ("invalid_tool_calls", [{"id": "c", "name": "f", "args": "{", "error": None, "type": "invalid_tool_call"}]),
        ("content", [{"type": "text", "text": "\ud800"}]),
        ("content", [{"type": "text", "text": "a"}, "b"]),
        ("content", [{"text": "a"}]),
        ("content", None),
        ("response_metadata", {"a": "\ud800"}),
        ("more", 1),
    ],
)
def test_an_odd_message_of_parts_is_left_to_the_general_code(field: str, value: Any) -> None:
    data = {
        "content": [{"type": "text", "text": "hi"}], "additional_kwargs": {}, "type": "ai", "name": None, "id": "a",
        "response_metadata": {"model_provider": "anthropic", "model_name": "m"}, "tool_calls": [],
        "invalid_tool_calls": [], "usage_metadata": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
    }  # fmt: skip
    assert (
        everyday_envelope({"type": "ai", "data": data})
        == read_messages(messages_from_dict([{"type": "ai", "data": data}]))[0]
    )
    assert everyday_envelope({"type": "ai", "data": {**data, field: value}}) is None
