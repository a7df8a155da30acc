"""Rules of Responses input items (R1 to R14), checked on any history.

Source: openai 3.57 types, the published OpenAPI description, and server errors as each rule says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from ..base import Finding, Rule
from ..responses_items import CALLS, NEED_ID, OUTPUTS, call_id_of
from ..responses_searches import lone_searches
from .responses_shapes import HOLD_PARTS, INTERPRETED, ITEMS, OUTPUT_PARTS, PARTS, PHASES, TEXT_OUTPUTS
from .shapes import Shape

RULES: Final = (
    Rule(
        id="R1",
        text="reasoning is directly followed by the item of the model that it belongs to, OpenAI's never by more "
        "reasoning; with it went its ids (R1b)",
        source="server error 'provided without its required following item', openai-node #1567, inspect_ai #1990; "
        "continue #11994; xAI takes runs of reasoning, as recorded",
    ),
    Rule(
        id="R2",
        text="stateless requests replay reasoning only with encrypted_content, to the account that made it",
        source="openai docstrings; pydantic-ai #4608",
    ),
    Rule(
        id="R3",
        text="every call has an output of its type behind it",
        source="server error 'No tool output found for function call'",
    ),
    Rule(
        id="R4",
        text="every output has its call before it, or where the server has items (previous_response_id, conversation, "
        "item_reference) there",
        source="server error; openai response_create_params",
    ),
    Rule(
        id="R5",
        text="item ids begin with the prefix of their type and hold letters, digits, _ and -; items of hosted tools "
        "have one",
        source="server error 'Expected an ID that begins with', nodetool #4252; openai-openapi",
    ),
    Rule(id="R6", text="item ids are unique", source="server error; inferred"),
    Rule(
        id="R7",
        text="messages are a text or a non-empty list of parts, those of the assistant output parts",
        source="openai-openapi OutputMessage, whose id and status the API does without, as langchain-openai does",
    ),
    Rule(id="R8", text="call ids are unique, each call has one output", source="server error; inferred"),
    Rule(id="R9", text="call ids have 1 to 64 characters", source="openai-openapi; experiential #801"),
    Rule(
        id="R11",
        text="phase of assistant messages is kept: commentary or final_answer",
        source="openai docstring of phase",
    ),
    Rule(
        id="R12",
        text="input_image has a source, input_file exactly one; details are known words; the output of a "
        "function is a text or a list of input parts; texts are at most 10,485,760 characters",
        source="openai-openapi; openai response_input_item_param",
    ),
    Rule(id="R13", text="compaction items carry encrypted_content", source="openai docstring"),
    Rule(
        id="R14",
        text="items and parts are of known types, have their keys, no others, and a known status (OpenAI); names of "
        "functions match ^[a-zA-Z0-9_-]{1,128}$",
        source="openai ResponseInputItemParam; FunctionToolParam of openai-openapi; server error on names",
    ),
)

_PREFIX: Final[Mapping[str, str]] = {
    "message": "msg_",
    "reasoning": "rs_",
    "function_call": "fc_",
    "custom_tool_call": "ctc_",
}
_CHARSET: Final = re.compile(r"[a-zA-Z0-9_-]+")
TOOL_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_ROLES: Final = frozenset({"user", "assistant", "system", "developer"})
MAX_TEXT: Final = 10_485_760
_Item = tuple[str, Mapping[str, Any]]


def lint_items(items: Any, *, stateless: bool, openai: bool, held: bool = False) -> list[Finding]:
    """Check input items.

    Args:
        items: The list under `input`.
        stateless: The request has store=False (R2).
        held: The server has items before these, calls perhaps among them (R4).
        openai: The host is OpenAI: item ids have its prefixes (R5), each reasoning has an item of its own behind it
            (R1). Other hosts have ids of their own, and take runs of reasoning.
    """
    if not isinstance(items, (list, tuple)) or not items:
        return [Finding(rule="R7", path="input", message="is no non-empty list")]
    known: list[_Item] = []
    found: list[Finding] = []
    for at, item in enumerate(items):
        if isinstance(item, Mapping):
            known.append((f"input[{at}]", item))
        else:
            found.append(Finding(rule="R7", path=f"input[{at}]", message="is not an object"))
    found.extend(_reasoning(known, runs=not openai))
    found.extend(_pairs(known, held=held))
    if not held:
        found.extend(_searches(known))
    for check in _CHECKS:
        found.extend(check(known))
    if stateless:
        found.extend(_sealed(known))
    if openai:
        found.extend(_prefixes(known))
        found.extend(_shapes(known))
    return found


def kind_of(item: Mapping[str, Any]) -> str:
    """Return an item's type; an item with a role and no type is a message."""
    return str(item.get("type") or "message")


def leads_to(item: Mapping[str, Any] | None, *, runs: bool, led: bool) -> bool:
    """True if reasoning may stand directly before an item.

    Args:
        item: The item; None at the end.
        runs: The host takes runs of reasoning.
        led: Reasoning at the place of `item`, if it is reasoning, may stand there.
    """
    if item is None:
        return False
    if kind_of(item) == "reasoning":
        return runs and led
    return kind_of(item) not in OUTPUTS and item.get("role", "assistant") == "assistant"


def _reasoning(items: Sequence[_Item], *, runs: bool) -> Iterator[Finding]:
    """R1. Walks from the end, since what stands behind decides."""
    after: Mapping[str, Any] | None = None
    led = False
    found: list[Finding] = []
    for path, item in reversed(items):
        led = leads_to(after, runs=runs, led=led)
        if kind_of(item) == "reasoning" and not led:
            found.append(Finding(rule="R1", path=path, message="no item of the model follows this reasoning"))
        after = item
    yield from reversed(found)


def _sealed(items: Sequence[_Item]) -> Iterator[Finding]:
    for path, item in items:
        if kind_of(item) == "reasoning" and not item.get("encrypted_content"):
            yield Finding(rule="R2", path=path, message="reasoning without encrypted_content in a stateless request")


def _searches(items: Sequence[_Item]) -> Iterator[Finding]:
    """R3, R4 of searches for tools that the client runs."""
    for at, rule in lone_searches(item for _, item in items).items():
        path, item = items[at]
        yield Finding(rule=rule, path=path, message=f"the other half of {kind_of(item)} is not there")


def _pairs(items: Sequence[_Item], *, held: bool) -> Iterator[Finding]:
    """R3, R4, R8. What stands at the server, under an item_reference too, may be any call or output."""
    calls: dict[Any, tuple[str, str]] = {}
    answered: set[Any] = set()
    for path, item in items:
        kind, call_id = kind_of(item), str(call_id_of(item))
        if kind == "item_reference":
            held = True
            answered.update(calls)
        elif kind in CALLS:
            if call_id in calls:
                yield Finding(rule="R8", path=path, message=f"call id {call_id!r:.80} is used twice")
            calls[call_id] = (path, kind)
        elif kind in OUTPUTS:
            if call_id in calls or not held:
                yield from _answer(path, item, calls.get(call_id))
            if call_id in answered:
                yield Finding(rule="R8", path=path, message=f"call {call_id!r:.80} is answered already")
            answered.add(call_id)
    for call_id, (path, _) in calls.items():
        if call_id not in answered:
            yield Finding(rule="R3", path=path, message=f"call {call_id!r:.80} has no output")


def _answer(path: str, item: Mapping[str, Any], call: tuple[str, str] | None) -> Iterator[Finding]:
    if call is None:
        yield Finding(rule="R4", path=path, message=f"no call {str(call_id_of(item))!r:.80} before this output")
    elif call[1] != OUTPUTS[kind_of(item)]:
        yield Finding(rule="R3", path=path, message=f"{kind_of(item)} answers a {call[1]}")


def _prefixes(items: Sequence[_Item]) -> Iterator[Finding]:
    seen: set[str] = set()
    for path, item in items:
        item_id = item.get("id")
        if item_id is None and kind_of(item) in NEED_ID:
            yield Finding(rule="R5", path=path, message=f"a {kind_of(item)} without its id")
        if item_id is None or kind_of(item) in ("item_reference", "local_shell_call_output"):
            continue
        prefix = _PREFIX.get(kind_of(item), "")
        if not isinstance(item_id, str) or not item_id.startswith(prefix) or not _CHARSET.fullmatch(item_id):
            yield Finding(
                rule="R5", path=f"{path}.id", message=f"id {item_id!r:.80} does not fit {prefix or 'an item'}"
            )
        if str(item_id) in seen:
            yield Finding(rule="R6", path=f"{path}.id", message=f"id {item_id!r:.80} is used twice")
        seen.add(str(item_id))


def _call_ids(items: Sequence[_Item]) -> Iterator[Finding]:
    for path, item in items:
        if kind_of(item) in CALLS or kind_of(item) in OUTPUTS:
            call_id = call_id_of(item)
            if not isinstance(call_id, str) or not 1 <= len(call_id) <= 64:
                yield Finding(rule="R9", path=f"{path}.call_id", message=f"{call_id!r:.80} does not fit")
        if kind_of(item) == "function_call":
            yield from _function(path, item)


def _function(path: str, item: Mapping[str, Any]) -> Iterator[Finding]:
    name = item.get("name")
    if not isinstance(item.get("arguments"), str) or not isinstance(name, str):
        yield Finding(rule="R3", path=path, message="a function_call needs name and arguments as texts")
    elif not TOOL_NAME.fullmatch(name):
        yield Finding(rule="R14", path=f"{path}.name", message=f"name {name!r:.80} does not fit")


def _messages(items: Sequence[_Item]) -> Iterator[Finding]:
    for path, item in items:
        if kind_of(item) != "message":
            continue
        if str(item.get("role")) not in _ROLES:
            yield Finding(rule="R7", path=f"{path}.role", message=f"role {item.get('role')!r} is unknown")
        if item.get("phase") is not None and str(item["phase"]) not in PHASES:
            yield Finding(rule="R11", path=f"{path}.phase", message=f"phase {item['phase']!r:.80} is unknown")
        content = item.get("content")
        if isinstance(content, str):
            continue
        if not isinstance(content, list) or not content:
            yield Finding(rule="R7", path=f"{path}.content", message="is neither a text nor a non-empty list")


def _parts(items: Sequence[_Item]) -> Iterator[Finding]:
    for path, item in items:
        key = "output" if kind_of(item) in OUTPUTS else "content"
        content = item.get(key)
        if isinstance(content, str) and len(content) > MAX_TEXT:
            yield Finding(rule="R12", path=f"{path}.{key}", message="the text is too long")
        for at, part in enumerate(content if isinstance(content, list) else ()):
            if isinstance(part, Mapping):
                yield from _part(f"{path}.{key}[{at}]", part, item)
        if kind_of(item) in TEXT_OUTPUTS:
            yield from _output(f"{path}.output", content)


def _output(path: str, output: Any) -> Iterator[Finding]:
    """R12: parts of messages may not be in it. Parts of unknown types are told of by R14."""
    if not isinstance(output, (str, list)):
        yield Finding(rule="R12", path=path, message="is neither a text nor a list")
    for at, part in enumerate(output if isinstance(output, list) else ()):
        kind = str(part.get("type")) if isinstance(part, Mapping) else ""
        if not isinstance(part, Mapping) or (kind in PARTS and kind not in OUTPUT_PARTS):
            yield Finding(rule="R12", path=f"{path}[{at}]", message=f"{kind or 'what is no object'} is no input part")


def _part(path: str, part: Mapping[str, Any], item: Mapping[str, Any]) -> Iterator[Finding]:
    kind = part.get("type")
    if kind == "input_image":
        if not part.get("image_url") and not part.get("file_id"):
            yield Finding(rule="R12", path=path, message="an image without a source")
    elif kind == "input_file":
        sources = [key for key in ("file_data", "file_id", "file_url") if part.get(key)]
        if len(sources) != 1:
            yield Finding(rule="R12", path=path, message=f"a file with {len(sources)} sources")
    elif str(kind).startswith("output_") and item.get("role", "assistant") != "assistant":
        yield Finding(rule="R7", path=path, message=f"{kind} in a message of {item.get('role')}")
    elif str(kind).startswith("input_") and item.get("role") == "assistant":
        yield Finding(rule="R7", path=path, message=f"{kind} in an assistant message")


def _shapes(items: Sequence[_Item]) -> Iterator[Finding]:
    """R12 and R14: types, keys and words of items and of the parts in them."""
    for path, item in items:
        yield from _misfits(path, item, kind_of(item), ITEMS)
        if kind_of(item) == "code_interpreter_call":
            yield from _interpreted(f"{path}.outputs", item.get("outputs"))
        for key in HOLD_PARTS.get(kind_of(item), ()):
            parts = item.get(key)
            for at, part in enumerate(parts if isinstance(parts, list) else ()):
                if isinstance(part, Mapping):
                    yield from _misfits(f"{path}.{key}[{at}]", part, part.get("type"), PARTS)


def _interpreted(path: str, outputs: Any) -> Iterator[Finding]:
    """R14: logs and images."""
    if not isinstance(outputs, (list, type(None))):
        yield Finding(rule="R14", path=path, message="is neither a list nor null")
    for at, output in enumerate(outputs if isinstance(outputs, list) else ()):
        if not isinstance(output, Mapping):
            yield Finding(rule="R14", path=f"{path}[{at}]", message="is no object")
        else:
            yield from _misfits(f"{path}[{at}]", output, output.get("type"), INTERPRETED)


def _misfits(path: str, value: Mapping[str, Any], kind: Any, table: Mapping[str, Shape]) -> Iterator[Finding]:
    known = table.get(kind) if isinstance(kind, str) else None
    if known is None:
        yield Finding(rule="R14", path=f"{path}.type", message=f"{kind!r:.80} is an unknown type")
        return
    for key, wrong in known.misfits(value):
        yield Finding(rule="R12" if key == ".detail" else "R14", path=f"{path}{key}", message=wrong)


def _compaction(items: Sequence[_Item]) -> Iterator[Finding]:
    for path, item in items:
        if kind_of(item) == "compaction" and not item.get("encrypted_content"):
            yield Finding(rule="R13", path=path, message="a compaction without encrypted_content")


_CHECKS: Final[Sequence[Callable[[Sequence[_Item]], Iterator[Finding]]]] = (
    _call_ids,
    _messages,
    _parts,
    _compaction,
)
