"""Rules of Mistral chat messages (M1 to M9), checked on any history, by tokenizer version where they differ.

Source: mistral-common 1.13 validators at serving level; mistralai 3.7 models.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..base import Finding, Rule
from .pairs import PairRules, calls_of, lint_pairs
from .shapes import Shape, shape

RULES: Final = (
    Rule(
        id="M1",
        text="tool call ids match ^[a-zA-Z0-9]{9}$ (v3 to v11), are set and not 'null' (v13 on)",
        source="mistral-common _validate_tool_call_id",
    ),
    Rule(
        id="M2",
        text="the first message is system or user; system stands behind those only, tool behind assistant or tool",
        source="mistral-common _validate_message_order",
    ),
    Rule(
        id="M3",
        text="the last message is user or tool, or assistant with prefix (sent as it is)",
        source="mistral-common _validate_last_message",
    ),
    Rule(
        id="M4",
        text="every call has one result before the next assistant message, matched by id",
        source="mistral-common _validate_tool_calls_followed_by_tool_messages",
    ),
    Rule(
        id="M5",
        text="an assistant message has content or calls; both only from v7 on",
        source="mistral-common _validate_assistant_message",
    ),
    Rule(
        id="M6",
        text="images in user messages from v3, audio from v7; thinking from v11; media in tool messages from v15; each "
        "chunk has its value",
        source="mistral-common _validate_content_chunk_types; mistralai ContentChunk",
    ),
    Rule(id="M7", text="tool names match ^[a-zA-Z0-9_-]{1,64}$", source="mistral-common _validate_function_call"),
    Rule(id="M8", text="messages have no unknown keys", source="mistral-common models, extra_forbidden"),
    Rule(id="M9", text="arguments are a JSON object", source="mistral-common FunctionCall"),
)
_PAIRS: Final = PairRules(unanswered="M4", orphan="M4", duplicate="M4", ended_by=frozenset({"assistant"}))
ID: Final = re.compile(r"[a-zA-Z0-9]{9}")
TOOL_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_BEFORE: Final[Mapping[str, frozenset[str]]] = {
    "system": frozenset({"", "system", "user"}),
    "user": frozenset({"", "system", "user", "assistant", "tool"}),
    "assistant": frozenset({"system", "user", "assistant", "tool"}),
    "tool": frozenset({"assistant", "tool"}),
}
_KEYS: Final[Mapping[str, frozenset[str]]] = {
    "system": frozenset({"role", "content"}),
    "user": frozenset({"role", "content"}),
    "assistant": frozenset({"role", "content", "tool_calls", "prefix"}),
    "tool": frozenset({"role", "content", "tool_call_id", "name"}),
}


@dataclass(frozen=True)
class Version:
    """What a tokenizer version takes beyond text: chunk types by role, and content beside calls."""

    number: int
    hosted: bool = False
    """Mistral's own API, which reads documents and gives references before a tokenizer sees them."""

    @property
    def any_id(self) -> bool:
        return self.number >= 13

    @property
    def content_with_calls(self) -> bool:
        return self.number >= 7

    def takes(self, role: str, kind: str) -> bool:
        """True if messages of a role may hold a kind of chunk."""
        if self.hosted and (role, kind) in _HOSTED:
            return True
        since = _CHUNKS.get((role, kind))
        return since is not None and since <= self.number <= _UNTIL.get((role, kind), self.number)


_CHUNKS: Final[Mapping[tuple[str, str], int]] = {
    **{(role, "text"): 1 for role in _KEYS},
    ("system", "thinking"): 7,
    ("user", "image_url"): 3,
    ("user", "input_audio"): 7,
    ("assistant", "thinking"): 11,
    ("tool", "image_url"): 15,
    ("tool", "input_audio"): 15,
}
"""Since which tokenizer version messages of a role may hold a kind of chunk."""
_UNTIL: Final[Mapping[tuple[str, str], int]] = {("system", "thinking"): 13}
_HOSTED: Final = frozenset(
    [
        ("user", "document_url"),
        ("user", "file"),
        ("assistant", "reference"),
        ("tool", "reference"),
        ("system", "thinking"),
    ],
)
"""What Mistral's own API takes beyond. Source: mistralai ContentChunk; docs.mistral.ai: Document QnA, Citations."""

_VALUES: Final[Mapping[str, Shape]] = {
    "text": shape("text!", text=str),
    "image_url": shape("image_url!", image_url=(str, Mapping)),
    "input_audio": shape("input_audio!", input_audio=(str, bytes, Mapping)),
    "document_url": shape("document_url!", document_url=str),
    "file": shape("file_id!", file_id=str),
    "reference": shape("reference_ids!", reference_ids=list),
    "thinking": shape("thinking!", thinking=(str, list)),
}
"""What a chunk holds. Source: mistralai 3.7; mistral-common 1.13, where audio may be an object, thinking a text."""
_IMAGE: Final = shape("url! detail", url=str, detail=str)


@dataclass(frozen=True)
class _Message:
    path: str
    value: Mapping[str, Any]
    before: str
    version: Version

    @property
    def role(self) -> str:
        return str(self.value.get("role"))

    def breaks(self, rule: str, message: str, at: str = "") -> Finding:
        return Finding(rule=rule, path=f"{self.path}{at}", message=message)


def lint_messages(natives: Any, version: Version, *, complete: bool) -> list[Finding]:
    """Check messages.

    Args:
        natives: The list under `messages`.
        version: Tokenizer version of the model.
        complete: The payload is sent as it is; else a user message will follow it (M3).
    """
    if not isinstance(natives, (list, tuple)) or not natives:
        return [Finding(rule="M2", path="messages", message="is no non-empty list")]
    messages: list[_Message] = []
    found: list[Finding] = []
    before = ""
    for at, value in enumerate(natives):
        if not isinstance(value, Mapping) or str(value.get("role")) not in _KEYS:
            found.append(Finding(rule="M2", path=f"messages[{at}]", message="is no message with a known role"))
            continue
        messages.append(_Message(f"messages[{at}]", value, before, version))
        before = value["role"]
    for message in messages:
        for check in _CHECKS:
            found.extend(check(message))
    found.extend(lint_pairs(messages, _PAIRS))
    if complete and before == "assistant" and not natives[-1].get("prefix"):
        found.append(Finding(rule="M3", path=f"messages[{len(natives) - 1}]", message="the last message is assistant"))
    return found


def _order(message: _Message) -> Iterator[Finding]:
    if message.before not in _BEFORE[message.role]:
        yield message.breaks("M2", f"{message.role} stands behind {message.before or 'nothing'}")
    for key in sorted(message.value.keys() - _KEYS[message.role], key=str):
        yield message.breaks("M8", f"unknown key {key!r}", f".{key}")


def _content(message: _Message) -> Iterator[Finding]:
    content = message.value.get("content")
    if message.role == "assistant":
        both = bool(content) and bool(message.value.get("tool_calls"))
        if both and not message.version.content_with_calls:
            yield message.breaks("M5", "content and calls in one message")
        if not content and not message.value.get("tool_calls"):
            yield message.breaks("M5", "neither content nor calls")
    elif not isinstance(content, (str, list)):
        yield message.breaks("M5", "content is missing", ".content")
    for at, chunk in enumerate(content if isinstance(content, list) else ()):
        kind = str(chunk.get("type")) if isinstance(chunk, Mapping) else "?"
        if not message.version.takes(message.role, kind):
            yield message.breaks("M6", f"{message.role} messages take no {kind} chunk", f".content[{at}]")
        elif kind in _VALUES:
            yield from _chunk(message, _VALUES[kind], chunk, f".content[{at}]")


def _chunk(message: _Message, known: Shape, chunk: Mapping[str, Any], at: str) -> Iterator[Finding]:
    for key, wrong in known.misfits(chunk, open_keys=True):
        yield message.breaks("M6", wrong, f"{at}{key}")
    if isinstance(chunk.get("image_url"), Mapping):
        for key, wrong in _IMAGE.misfits(chunk["image_url"], open_keys=True):
            yield message.breaks("M6", wrong, f"{at}.image_url{key}")


def _calls(message: _Message) -> Iterator[Finding]:
    calls = message.value.get("tool_calls")
    for at, call in enumerate(calls if isinstance(calls, list) else ()):
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping):
            yield message.breaks("M7", "is no call of a function", f".tool_calls[{at}]")
            continue
        yield from _id(message, call.get("id"), f".tool_calls[{at}].id")
        name = function.get("name")
        if not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
            yield message.breaks("M7", f"name {name!r:.80} does not fit", f".tool_calls[{at}].function.name")
        if not _is_object(function.get("arguments")):
            yield message.breaks("M9", "arguments are no JSON object", f".tool_calls[{at}].function.arguments")


def _tool(message: _Message) -> Iterator[Finding]:
    if message.role == "tool":
        yield from _id(message, message.value.get("tool_call_id"), ".tool_call_id")
        name = message.value.get("name")
        if name is not None and (not isinstance(name, str) or not TOOL_NAME.fullmatch(name)):
            yield message.breaks("M7", f"name {name!r:.80} does not fit", ".name")


def _id(message: _Message, call_id: Any, at: str) -> Iterator[Finding]:
    fits = isinstance(call_id, str) and call_id not in ("", "null")
    if not fits or not (message.version.any_id or ID.fullmatch(call_id)):
        yield message.breaks("M1", f"id {call_id!r:.80} does not fit", at)


def _is_object(arguments: Any) -> bool:
    if isinstance(arguments, Mapping):
        return True
    try:
        return isinstance(arguments, str) and (arguments == "" or isinstance(json.loads(arguments), dict))
    except (ValueError, RecursionError):
        return False


def _distinct(message: _Message) -> Iterator[Finding]:
    """M4: results are matched by id, so no two calls of a message may share one."""
    seen: set[str] = set()
    for at, call in calls_of(message.value):
        if str(call.get("id")) in seen:
            yield message.breaks("M4", f"id {call.get('id')!r:.80} is used twice", f".tool_calls[{at}].id")
        seen.add(str(call.get("id")))


_CHECKS: Final[Sequence[Callable[[_Message], Iterator[Finding]]]] = (_order, _content, _calls, _tool, _distinct)
