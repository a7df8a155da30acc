"""Rules of Anthropic messages (A1 to A18), checked on any history.

The API joins consecutive messages of one role, so pairing is checked on joined turns (A2).

Source: anthropic 2.14 docstrings, platform.claude.com, and server errors as each rule says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ..base import Finding, Rule
from .anthropic_shapes import (
    ANY_CITATION,
    BLOCK_KEYS,
    CACHE_MARK,
    CITATIONS,
    MESSAGE_KEYS,
    PART_ROLES,
    SERVER_RESULTS,
    SOURCES,
)
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
        text="thinking blocks are whole, signed, unchanged, and lead their turn",
        source="anthropic thinking_block_param; platform.claude.com preserved-thinking",
    ),
    Rule(
        id="A13",
        text="server tool calls and results stand in pairs in one assistant turn, call first, of one tool; "
        "the turn goes on behind results of the client's tools",
        source="server error, claude-code #64383; Anthropic docs, programmatic tool calling",
    ),
    Rule(id="A14", text="a final assistant text does not end in spaces", source="server error"),
    Rule(id="A15", text="a final assistant message does not end in thinking", source="server error"),
    Rule(
        id="A16",
        text="at most 4 cache_control marks, those inside results and documents too; each ephemeral, for 5m or 1h",
        source="platform.claude.com prompt-caching; anthropic cache_control_ephemeral_param",
    ),
    Rule(
        id="A17",
        text="role system stands only behind a user turn, and never first",
        source="platform.claude.com mid-conversation-system-messages",
    ),
    Rule(
        id="A18",
        text="block types, sources and places are known ones; messages, blocks, sources and citations have their keys",
        source="anthropic types and beta types; server error 'Extra inputs are not permitted'",
    ),
)

ID: Final = re.compile(r"[a-zA-Z0-9_-]+")
TOOL_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}")
MAX_MESSAGES: Final = 100_000
_ASSISTANT_ONLY: Final = frozenset({"tool_use", "thinking", "redacted_thinking", "server_tool_use", "mcp_tool_use"})
_NOT_IN_RESULTS: Final = _ASSISTANT_ONLY | {"tool_result"}


@dataclass
class _Turn:
    """Consecutive messages of one role, as the API joins them."""

    role: str
    path: str
    blocks: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)

    def of(self, *kinds: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        return ((path, block) for path, block in self.blocks if block.get("type") in kinds)


def lint_payload(messages: Any, system: Any = None) -> list[Finding]:
    """Check messages, and the system parameter where there is one."""
    if not isinstance(messages, (list, tuple)) or not messages:
        return [Finding(rule="A1", path="messages", message="is no non-empty list")]
    found = list(_shape(messages))
    turns = _turns(messages)
    for check in _CHECKS:
        found.extend(check(turns))
    for turn in turns:
        for path, block in turn.blocks:
            found.extend(_block(path, block, role=turn.role))
    return [*found, *_cache(turns, system), *_system(system)]


def _shape(messages: Sequence[Any]) -> Iterator[Finding]:
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
        final = at == len(messages) - 1 and message.get("role") == "assistant"
        if not message.get("content") and not final:
            yield Finding(rule="A3", path=f"{path}.content", message="is empty")
    first = messages[0]
    if isinstance(first, Mapping) and first.get("role") == "assistant":
        yield Finding(rule="A2", path="messages[0].role", message="the first message is not user")


def _turns(messages: Sequence[Any]) -> list[_Turn]:
    turns: list[_Turn] = []
    for at, message in enumerate(messages):
        if not isinstance(message, Mapping):
            continue
        role = str(message.get("role"))
        if not turns or turns[-1].role != role:
            turns.append(_Turn(role, f"messages[{at}]"))
        turns[-1].blocks.extend(_blocks(message.get("content"), f"messages[{at}].content"))
    return turns


def _blocks(content: Any, path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if isinstance(content, str):
        yield path, {"type": "text", "text": content}
    for at, block in enumerate(content if isinstance(content, list) else ()):
        if isinstance(block, Mapping):
            yield f"{path}[{at}]", block


def _pairs(turns: Sequence[_Turn]) -> Iterator[Finding]:
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


def _places(turns: Sequence[_Turn]) -> Iterator[Finding]:
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
        if turn.role == "system" and (at == 0 or turns[at - 1].role != "user"):
            yield Finding(rule="A17", path=turn.path, message="a system message stands only behind a user turn")


def _ids(turns: Sequence[_Turn]) -> Iterator[Finding]:
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


def _server_pairs(turns: Sequence[_Turn]) -> Iterator[Finding]:
    """A13: server tool calls and results in one assistant turn, which goes on behind results of the client's tools."""
    calls: dict[Any, tuple[str, str]] = {}
    for turn in turns:
        if turn.role != "assistant" and any(block.get("type") != "tool_result" for _, block in turn.blocks):
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


def _end(turns: Sequence[_Turn]) -> Iterator[Finding]:
    """A14, A15: how a final assistant message ends."""
    if not turns or turns[-1].role != "assistant" or not turns[-1].blocks:
        return
    path, block = turns[-1].blocks[-1]
    text = block.get("text")
    if block.get("type") == "text" and isinstance(text, str) and text != text.rstrip():
        yield Finding(rule="A14", path=path, message="the final text ends in spaces")
    if block.get("type") in ("thinking", "redacted_thinking"):
        yield Finding(rule="A15", path=path, message="the final message ends in thinking")


_CHECKS: Final[Sequence[Callable[[Sequence[_Turn]], Iterator[Finding]]]] = (
    _pairs,
    _places,
    _ids,
    _server_pairs,
    _end,
)


def _block(path: str, block: Mapping[str, Any], *, role: str) -> Iterator[Finding]:
    kind = block.get("type")
    check = _BLOCKS.get(str(kind))
    if not isinstance(kind, str):
        yield Finding(rule="A18", path=path, message="a block has no type")
        return
    for key in unknown_keys(block, BLOCK_KEYS.get(kind, block.keys())):
        yield Finding(rule="A18", path=f"{path}.{key}", message=f"{kind} has no such key")
    if role not in PART_ROLES.get(kind, (role,)) or (role == "tool" and kind in _NOT_IN_RESULTS):
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
    for key, wrong in (known or ANY_CITATION).misfits(citation, open_keys=known is None):
        yield Finding(
            rule="A18", path=path, message=f"is no citation that requests may hold: {key[1:] or 'it'} {wrong}"
        )


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
    for inner, part in _blocks(content, f"{path}.content"):
        yield from _block(inner, part, role="tool")


def _source(path: str, block: Mapping[str, Any]) -> Iterator[Finding]:
    source = block.get("source")
    known = SOURCES[block["type"]].get(str(source.get("type"))) if isinstance(source, Mapping) else None
    if known is None:
        yield Finding(rule="A18", path=f"{path}.source", message=f"is no known source of a {block['type']}")
        return
    for key, wrong in known.misfits(source):
        yield Finding(rule="A18", path=f"{path}.source{key}", message=wrong)


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
    "web_fetch_tool_result": _fetched,
}


def _cache(turns: Sequence[_Turn], system: Any) -> Iterator[Finding]:
    blocks = [*_blocks(system, "system"), *(placed for turn in turns for placed in turn.blocks)]
    marked = [placed for outer in blocks for placed in _marked(*outer)]
    for path, mark in marked:
        for key, wrong in CACHE_MARK.misfits(mark):
            yield Finding(rule="A16", path=f"{path}.cache_control{key}", message=wrong)
    for path, _ in marked[4:]:
        yield Finding(rule="A16", path=path, message="more than 4 cache_control marks")


def _marked(path: str, block: Mapping[str, Any], *, levels: int = 3) -> Iterator[tuple[str, Any]]:
    """Yield the marks of a block, those of what it holds first: a result may hold documents, these hold texts."""
    source = block.get("source")
    for at, holder in (("", block), (".source", source)):
        content = holder.get("content") if isinstance(holder, Mapping) and levels else None
        for inner, part in _blocks(content, f"{path}{at}.content"):
            yield from _marked(inner, part, levels=levels - 1)
    if block.get("cache_control") is not None:
        yield path, block["cache_control"]


def _system(system: Any) -> Iterator[Finding]:
    for path, block in _blocks(system, "system"):
        if block.get("type") != "text":
            yield Finding(rule="A18", path=path, message="system takes text only")
        else:
            yield from _text(path, block)
