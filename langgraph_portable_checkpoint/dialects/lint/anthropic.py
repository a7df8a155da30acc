"""Rules of Anthropic messages (A1 to A18), checked on any history.

The API joins consecutive messages of one role, so pairing is checked on joined turns (A2).

Source: anthropic 2.14 docstrings, platform.claude.com, and server errors as each rule says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from ..base import Finding, Rule
from .anthropic_request import lint_request
from .anthropic_shapes import (
    BLOCK_KEYS,
    BLOCKS,
    CITATIONS,
    MESSAGE_KEYS,
    NO_PREFILL,
    PART_ROLES,
    RESULT_BLOCKS,
    SERVER_RESULTS,
    SOURCES,
)
from .anthropic_turns import Turn, blocks_of, turns_of
from .shapes import unknown_keys

RULES: Final = (
    Rule(id="A1", text="messages is a non-empty list of at most 100,000", source="anthropic message_create_params"),
    Rule(id="A2", text="the first message is user", source="anthropic message_create_params"),
    Rule(
        id="A3",
        text="content is not empty, save in a final assistant message",
        source="server error 'all messages must have non-empty content'",
    ),
    Rule(
        id="A4",
        text="a text block has a character that is no space, in tool results too",
        source="server error 'text content blocks must contain non-whitespace text'",
    ),
    Rule(id="A5", text="tool_result in user, tool_use and thinking in assistant turns", source="server error"),
    Rule(
        id="A6",
        text="every tool_use has its tool_result in the next turn",
        source="server error 'tool_use ids were found without tool_result blocks immediately after'",
    ),
    Rule(
        id="A7",
        text="every tool_result answers a tool_use of the turn before",
        source="server error 'unexpected tool_use_id found in tool_result blocks'",
    ),
    Rule(id="A8", text="one result per tool_use", source="platform.claude.com handle-tool-calls"),
    Rule(
        id="A9",
        text="results come first in their turn",
        source="platform.claude.com handle-tool-calls; qwen-code #8161",
    ),
    Rule(
        id="A10",
        text="ids match ^[a-zA-Z0-9_-]+$, tool names ^[a-zA-Z0-9_-]{1,128}$",
        source="published specification 2024-11; bifrost #5097",
    ),
    Rule(id="A11", text="tool_use ids are unique", source="server error; wording inferred"),
    Rule(
        id="A12",
        text="thinking blocks are whole, signed, unchanged, and lead their turn; where the request enables thinking, "
        "the turn that calls tools begins with one",
        source="anthropic thinking_block_param; platform.claude.com preserved-thinking; server error 'Expected "
        "`thinking` or `redacted_thinking`'",
    ),
    Rule(
        id="A13",
        text="server tool calls and results stand in pairs in one assistant turn, call first, of one tool; "
        "the turn goes on behind results of the client's tools; pages that were found have encrypted_content",
        source="server error, claude-code #64383; Anthropic docs, programmatic tool calling; anthropic "
        "web_search_result_block_param",
    ),
    Rule(
        id="A14",
        text="a final assistant text does not end in spaces; from Claude 4.6 on, a user speaks last (sent as it is)",
        source="server errors: no trailing whitespace; no assistant message prefill",
    ),
    Rule(id="A15", text="a final assistant message does not end in thinking (sent as it is)", source="server error"),
    Rule(
        id="A16",
        text="at most 4 cache_control marks, those of tools and system, inside results and documents, and of the "
        "request itself too; each ephemeral, for 5m or 1h",
        source="platform.claude.com prompt-caching; anthropic cache_control_ephemeral_param",
    ),
    Rule(
        id="A17",
        text="role system stands only behind a user turn or a server tool's result, never first, and only for models "
        "from Opus 4.8 on",
        source="platform.claude.com mid-conversation-system-messages",
    ),
    Rule(
        id="A18",
        text="types of blocks and citations, sources and places are known ones; messages, blocks, sources and "
        "citations have their keys",
        source="anthropic types and beta types; server error 'Extra inputs are not permitted'",
    ),
)

ID: Final = re.compile(r"[a-zA-Z0-9_-]+")
TOOL_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}")
MAX_MESSAGES: Final = 100_000
_ASSISTANT_ONLY: Final = frozenset({"tool_use", "thinking", "redacted_thinking", "server_tool_use", "mcp_tool_use"})


def lint_payload(payload: Any, *, model: str | None = None, complete: bool = False) -> list[Finding]:
    """Check a request, or its messages alone.

    Args:
        payload: The request or the list of messages.
        model: Name of the model that they are for.
        complete: The payload is sent as it is; else a user message will follow it (A3, A14, A15).
    """
    request = payload if isinstance(payload, Mapping) else {}
    messages = request.get("messages") if isinstance(payload, Mapping) else payload
    if not isinstance(messages, (list, tuple)) or not messages:
        return [Finding(rule="A1", path="messages", message="is no non-empty list")]
    found = list(_shape(messages, complete=complete))
    turns = turns_of(messages)
    for check in _CHECKS:
        found.extend(check(turns))
    if complete:
        found.extend(_end(turns, model))
    for turn in turns:
        for path, block in turn.blocks:
            found.extend(_block(path, block, role=turn.role))
    return [*found, *lint_request(turns, request, model), *_system(request.get("system"))]


def _shape(messages: Sequence[Any], *, complete: bool) -> Iterator[Finding]:
    if len(messages) > MAX_MESSAGES:
        yield Finding(rule="A1", path="messages", message=f"{len(messages)} messages are too many")
    for at, message in enumerate(messages):
        path = f"messages[{at}]"
        if not isinstance(message, Mapping):
            yield Finding(rule="A1", path=path, message="is not an object")
            continue
        if message.get("role") not in ("user", "assistant", "system"):
            yield Finding(rule="A2", path=f"{path}.role", message=f"role {message.get('role')!r} is unknown")
        for key in unknown_keys(message, MESSAGE_KEYS.get(str(message.get("role")), message.keys())):
            yield Finding(rule="A18", path=f"{path}.{key}", message="messages have no such key")
        final = complete and at == len(messages) - 1 and message.get("role") == "assistant"
        if not message.get("content") and not final:
            yield Finding(rule="A3", path=f"{path}.content", message="is empty")
        yield from _objects(message.get("content"), f"{path}.content")
    first = messages[0]
    if isinstance(first, Mapping) and first.get("role") == "assistant":
        yield Finding(rule="A2", path="messages[0].role", message="the first message is not user")


def _objects(content: Any, path: str) -> Iterator[Finding]:
    if content and not isinstance(content, (str, list)):
        yield Finding(rule="A18", path=path, message="is neither a text nor a list")
    for at, block in enumerate(content if isinstance(content, list) else ()):
        if not isinstance(block, Mapping):
            yield Finding(rule="A18", path=f"{path}[{at}]", message="is no object")


def _pairs(turns: Sequence[Turn]) -> Iterator[Finding]:
    """A6, A7, A8: calls and results of neighbouring turns."""
    calls: dict[Any, str] = {}
    for turn in turns:
        answered: set[Any] = set()
        for path, block in turn.of("tool_result"):
            wanted = str(block.get("tool_use_id"))
            if wanted in answered:
                yield Finding(rule="A8", path=path, message=f"{wanted!r} is answered already")
            elif wanted not in calls:
                yield Finding(rule="A7", path=path, message=f"no tool_use {wanted!r} in the turn before")
            answered.add(wanted)
        yield from _open(calls, answered)
        calls = {str(block.get("id")): path for path, block in turn.of("tool_use")}
    yield from _open(calls, set())


def _open(calls: Mapping[Any, str], answered: set[Any]) -> Iterator[Finding]:
    for call_id, path in calls.items():
        if call_id not in answered:
            yield Finding(rule="A6", path=path, message=f"tool_use {call_id!r} has no result in the next turn")


def _places(turns: Sequence[Turn]) -> Iterator[Finding]:
    """A5, A9, A17: what may stand where."""
    for at, turn in enumerate(turns):
        late = False
        for path, block in turn.blocks:
            kind = block.get("type")
            if kind == "tool_result":
                if turn.role != "user":
                    yield Finding(rule="A5", path=path, message=f"tool_result in a turn of {turn.role}")
                elif late:
                    yield Finding(rule="A9", path=path, message="other content stands before this result")
            elif str(kind) in _ASSISTANT_ONLY and turn.role != "assistant":
                yield Finding(rule="A5", path=path, message=f"{kind} in a turn of {turn.role}")
            else:
                late = True
        if turn.role == "system" and not (at and _takes_system(turns[at - 1])):
            yield Finding(rule="A17", path=turn.path, message="a system message has no place here")


def _takes_system(turn: Turn) -> bool:
    """True for a user turn, and for one of the assistant that ends in a result of a server tool."""
    served = turn.blocks and str(turn.blocks[-1][1].get("type")).endswith("_tool_result")
    return turn.role == "user" or (turn.role == "assistant" and bool(served))


def _ids(turns: Sequence[Turn]) -> Iterator[Finding]:
    """A10, A11: ids and names."""
    seen: set[Any] = set()
    for turn in turns:
        for path, block in turn.of("tool_use", "server_tool_use", "mcp_tool_use"):
            call_id = block.get("id")
            if not isinstance(call_id, str) or not ID.fullmatch(call_id):
                yield Finding(rule="A10", path=f"{path}.id", message=f"id {call_id!r:.80} does not fit")
            if str(call_id) in seen:
                yield Finding(rule="A11", path=f"{path}.id", message=f"id {call_id!r:.80} is used twice")
            seen.add(str(call_id))
            name = block.get("name")
            if not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
                yield Finding(rule="A10", path=f"{path}.name", message=f"name {name!r:.80} does not fit")
        for path, block in turn.of("tool_result"):
            if not ID.fullmatch(str(block.get("tool_use_id"))):
                yield Finding(rule="A10", path=f"{path}.tool_use_id", message="does not fit")


def _server_pairs(turns: Sequence[Turn]) -> Iterator[Finding]:
    """A13: server tool calls and results in one assistant turn, which goes on behind results of the client's tools."""
    calls: dict[Any, tuple[str, str]] = {}
    for turn in turns:
        if turn.role != "assistant" and not turn.only_results():
            yield from _unanswered(calls)
            calls = {}
        for path, block in turn.blocks:
            kind = str(block.get("type"))
            if kind in ("server_tool_use", "mcp_tool_use"):
                tool = "mcp" if kind == "mcp_tool_use" else str(block.get("name"))
                calls[str(block.get("id"))] = (path, tool)
            elif kind.endswith("_tool_result"):
                yield from _server_answer(path, kind, calls.pop(str(block.get("tool_use_id")), None))


def _unanswered(calls: Mapping[Any, tuple[str, str]]) -> Iterator[Finding]:
    for call_id, (path, _) in calls.items():
        yield Finding(rule="A13", path=path, message=f"server tool call {call_id!r} has no result")


def _server_answer(path: str, kind: str, call: tuple[str, str] | None) -> Iterator[Finding]:
    if call is None:
        yield Finding(rule="A13", path=path, message="no server tool call before it in this turn")
    elif kind in SERVER_RESULTS.values() and SERVER_RESULTS.get(call[1], kind) != kind:
        yield Finding(rule="A13", path=path, message=f"{kind} answers a call of {call[1]}")


def _end(turns: Sequence[Turn], model: str | None) -> Iterator[Finding]:
    """A14, A15: how a final assistant message ends."""
    if not turns or turns[-1].role != "assistant" or not turns[-1].blocks:
        return
    path, block = turns[-1].blocks[-1]
    text = block.get("text")
    if block.get("type") == "text" and isinstance(text, str) and text != text.rstrip():
        yield Finding(rule="A14", path=path, message="the final text ends in spaces")
    if block.get("type") in ("thinking", "redacted_thinking"):
        yield Finding(rule="A15", path=path, message="the final message ends in thinking")
    may_be_paused = any(block.get("type") in ("server_tool_use", "mcp_tool_use") for _, block in turns[-1].blocks)
    if model is not None and NO_PREFILL.search(model) and not may_be_paused:
        yield Finding(rule="A14", path=path, message=f"{model} goes on from no assistant message: a user speaks last")


_CHECKS: Final[Sequence[Callable[[Sequence[Turn]], Iterator[Finding]]]] = (
    _pairs,
    _places,
    _ids,
    _server_pairs,
)


def _block(path: str, block: Mapping[str, Any], *, role: str) -> Iterator[Finding]:
    kind = block.get("type")
    check = _BLOCKS.get(str(kind))
    if not isinstance(kind, str):
        yield Finding(rule="A18", path=path, message="a block has no type")
        return
    if kind not in BLOCKS:
        yield Finding(rule="A18", path=f"{path}.type", message=f"{kind!r:.80} is an unknown type of block")
        return
    for key in unknown_keys(block, BLOCK_KEYS.get(kind, block.keys())):
        yield Finding(rule="A18", path=f"{path}.{key}", message=f"{kind} has no such key")
    if role not in PART_ROLES.get(kind, (role,)) or (role == "tool" and kind not in RESULT_BLOCKS):
        yield Finding(rule="A18", path=path, message=f"{kind} has no place in {role} content")
    if check is not None:
        yield from check(path, block)


def _text(path: str, block: Mapping[str, Any]) -> Iterator[Finding]:
    text = block.get("text")
    if not isinstance(text, str) or not text.strip():
        yield Finding(rule="A4", path=path, message="the text is blank")
    citations = block.get("citations")
    for at, citation in enumerate(citations if isinstance(citations, list) else ()):
        yield from _citation(f"{path}.citations[{at}]", citation)


def _citation(path: str, citation: Any) -> Iterator[Finding]:
    known = CITATIONS.get(str(citation.get("type"))) if isinstance(citation, Mapping) else None
    wrong = known.misfits(citation) if known else [(".type", "is unknown")]
    for key, why in wrong:
        yield Finding(rule="A18", path=path, message=f"is no citation that requests may hold: {key[1:] or 'it'} {why}")


def _thinking(path: str, block: Mapping[str, Any]) -> Iterator[Finding]:
    if not isinstance(block.get("thinking"), str) or not block.get("signature"):
        yield Finding(rule="A12", path=path, message="thinking without text or signature")


def _redacted(path: str, block: Mapping[str, Any]) -> Iterator[Finding]:
    if not isinstance(block.get("data"), str):
        yield Finding(rule="A12", path=path, message="redacted_thinking without data")


def _tool_use(path: str, block: Mapping[str, Any]) -> Iterator[Finding]:
    if not isinstance(block.get("input"), Mapping):
        yield Finding(rule="A18", path=f"{path}.input", message="is not an object")


def _tool_result(path: str, block: Mapping[str, Any]) -> Iterator[Finding]:
    content = block.get("content")
    if not isinstance(block.get("is_error"), (bool, type(None))):
        yield Finding(rule="A18", path=f"{path}.is_error", message="is not true or false")
    if isinstance(content, str):
        if content and not content.strip():
            yield Finding(rule="A4", path=f"{path}.content", message="the text is blank")
        return
    yield from _objects(content, f"{path}.content")
    for inner, part in blocks_of(content, f"{path}.content"):
        yield from _block(inner, part, role="tool")


def _source(path: str, block: Mapping[str, Any]) -> Iterator[Finding]:
    source = block.get("source")
    known = SOURCES[block["type"]].get(str(source.get("type"))) if isinstance(source, Mapping) else None
    if known is None:
        yield Finding(rule="A18", path=f"{path}.source", message=f"is no known source of a {block['type']}")
        return
    for key, wrong in known.misfits(source):
        yield Finding(rule="A18", path=f"{path}.source{key}", message=wrong)


def _searched(path: str, block: Mapping[str, Any]) -> Iterator[Finding]:
    for inner, page in blocks_of(block.get("content"), f"{path}.content"):
        if page.get("type") == "web_search_result" and not isinstance(page.get("encrypted_content"), str):
            yield Finding(rule="A13", path=f"{inner}.encrypted_content", message="is missing")


def _fetched(path: str, block: Mapping[str, Any]) -> Iterator[Finding]:
    result = block.get("content")
    if not isinstance(result, Mapping) or result.get("type") != "web_fetch_result":
        return
    page = result.get("content")
    if not isinstance(page, Mapping) or page.get("type") != "document":
        yield Finding(rule="A18", path=f"{path}.content.content", message="is no document")
        return
    yield from _block(f"{path}.content.content", page, role="tool")


_BLOCKS: Final[Mapping[str, Callable[[str, Mapping[str, Any]], Iterator[Finding]]]] = {
    "text": _text,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "tool_use": _tool_use,
    "tool_result": _tool_result,
    "image": _source,
    "document": _source,
    "web_search_tool_result": _searched,
    "web_fetch_tool_result": _fetched,
}


def _system(system: Any) -> Iterator[Finding]:
    for path, block in blocks_of(system, "system"):
        if block.get("type") != "text":
            yield Finding(rule="A18", path=path, message="system takes text only")
        else:
            yield from _text(path, block)
