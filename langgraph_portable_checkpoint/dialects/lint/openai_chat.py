"""Rules of Chat Completions messages (C1 to C13) and of their hosts (H1 to H4), checked on any history.

Source: openai 3.57 types, the published OpenAPI description, and server errors as each rule says.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..base import Finding, Rule
from ..chat_hosts import CHAT_NAME, SPEAKER, Host
from .pairs import PairRules, calls_of, lint_pairs
from .shapes import Shape, shape, words

RULES: Final = (
    Rule(
        id="C1",
        text="an assistant message with tool_calls is followed directly by a tool message for each call",
        source="server error 'must be followed by tool messages responding to each tool_call_id'",
    ),
    Rule(
        id="C2",
        text="a tool message answers a call of the assistant message before it",
        source="server error 'must be a response to a preceeding message with tool_calls', litellm #4931",
    ),
    Rule(id="C3", text="a call is answered once", source="server error; inferred"),
    Rule(id="C4", text="tool_calls is not an empty list", source="server error"),
    Rule(
        id="C5",
        text="content is a text or a non-empty list; it is required unless there are calls; messages, calls and parts "
        "have the keys of their type, at OpenAI no others but what it takes: name of a tool, annotations of an answer",
        source="openai-openapi ChatCompletionRequestMessage; openai ChatCompletionContentPartParam",
    ),
    Rule(id="C6", text="ids of calls are unique", source="server error; inferred"),
    Rule(
        id="C7",
        text="ids of calls have at most 40 characters (OpenAI)",
        source="server error 'string too long', pydantic-ai #4389",
    ),
    Rule(id="C8", text="names of tools match ^[a-zA-Z0-9_-]{1,64}$", source="platform.openai.com function calling"),
    Rule(id="C9", text="arguments are a JSON object where the host insists", source="openai types; compatible hosts"),
    Rule(id="C10", text="names of speakers hold no space and none of <|\\/>", source="server error"),
    Rule(id="C11", text="tool messages hold text parts only, and no error flag", source="openai-openapi"),
    Rule(
        id="C12",
        text="assistant parts are texts or one refusal; audio goes back by id only",
        source="openai-openapi ChatCompletionRequestAssistantMessage",
    ),
    Rule(
        id="C13",
        text="roles, kinds of user parts, and at OpenAI their formats and details, are those the host knows",
        source="openai-openapi; host docs",
    ),
    Rule(
        id="H1",
        text="assistant messages with calls have reasoning_content, empty if need be (DeepSeek, Kimi)",
        source="api-docs.deepseek.com/guides/thinking_mode; continue #11600",
    ),
    Rule(id="H2", text="only the host's own reasoning field is sent", source="host docs; server error 'extra inputs'"),
    Rule(
        id="H3",
        text="behind the system messages, user and assistant messages alternate, a user's first and, sent "
        "as it is, last (Perplexity)",
        source="server error 'user and assistant roles should be alternating', perplexityai/api-discussion #265",
    ),
    Rule(
        id="H4",
        text="no calls and no tool messages where the host calls no tools (Perplexity)",
        source="langchain-perplexity 1.4 bind_tools: sonar models have no function tools",
    ),
)

_PAIRS: Final = PairRules(unanswered="C1", orphan="C2", duplicate="C3")
_ROLES: Final = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_USER_PARTS: Final[Mapping[str, str]] = {
    "image_url": "image",
    "input_audio": "audio",
    "file": "file",
    "video_url": "video",
    "audio_url": "audio",
}
PARTS: Final[Mapping[str, Shape]] = {
    "text": shape("type! text! prompt_cache_breakpoint", text=str),
    "refusal": shape("type! refusal!", refusal=str),
    "image_url": shape("type! image_url! prompt_cache_breakpoint"),
    "input_audio": shape("type! input_audio! prompt_cache_breakpoint"),
    "file": shape("type! file! prompt_cache_breakpoint"),
}
VALUES: Final[Mapping[str, Shape]] = {
    "image_url": shape("url! detail", url=str, detail=words("auto low high original")),
    "input_audio": shape("data! format!", data=str, format=words("wav mp3")),
    "file": shape("file_data file_id filename", file_data=str, file_id=str, filename=str),
}
"""What stands under a part's own key. Source: openai 3.57, chat_completion_content_part_*_param.py."""
_TAKEN_BY_OPENAI: Final = {"tool": frozenset({"name"}), "assistant": frozenset({"annotations"})}
"""Keys by role that no request type has: OpenAI's guides send them, an answer as it came or a tool's name."""
_TOOL_KEYS: Final = frozenset({"tool_calls", "tool_call_id"})
_REASONING: Final = frozenset({"reasoning_content", "reasoning", "reasoning_details"})


@dataclass(frozen=True)
class _Message:
    """One message with its path."""

    path: str
    value: Mapping[str, Any]
    host: Host

    @property
    def role(self) -> str:
        return str(self.value.get("role"))

    @property
    def is_openai(self) -> bool:
        return "openai" in self.host.providers

    @property
    def calls(self) -> list[tuple[int, Mapping[str, Any]]]:
        return calls_of(self.value)

    def breaks(self, rule: str, message: str, at: str = "") -> Finding:
        return Finding(rule=rule, path=f"{self.path}{at}", message=message)


def lint_messages(
    messages: Sequence[Any], host: Host, *, root: str = "messages", complete: bool = False
) -> list[Finding]:
    """Check a list of messages against the rules of a host; `complete`: no user message will follow them."""
    if not messages:
        return [Finding(rule="C5", path=root, message="there is no message")]
    found: list[Finding] = []
    known: list[_Message] = []
    for at, value in enumerate(messages):
        if isinstance(value, Mapping):
            known.append(_Message(f"{root}[{at}]", value, host))
        else:
            found.append(Finding(rule="C13", path=f"{root}[{at}]", message="is not an object"))
    for message in known:
        for check in _CHECKS:
            found.extend(check(message))
    found += [*lint_pairs(known, _PAIRS), *_unique(known)]
    return [*found, *_alternation(known, complete=complete)] if host.alternates else found


def _unique(messages: Sequence[_Message]) -> Iterator[Finding]:
    seen: set[Any] = set()
    for message in messages:
        if message.host.step_ids:
            seen = set()
        for at, call in message.calls:
            if str(call.get("id")) in seen:
                yield message.breaks("C6", f"id {call.get('id')!r} is used twice", f".tool_calls[{at}].id")
            seen.add(str(call.get("id")))


def _alternation(messages: Sequence[_Message], *, complete: bool) -> Iterator[Finding]:
    """H3."""
    before = "system"
    for message in messages:
        side = message.role
        if side == "system" and before != "system":
            yield message.breaks("H3", "a system message does not lead", ".role")
        elif side == "assistant" and before == "system":
            yield message.breaks("H3", "the first message is not a user's", ".role")
        elif side == before != "system":
            yield message.breaks("H3", f"two {side} messages in a row", ".role")
        before = side
    if complete and before == "assistant":
        yield messages[-1].breaks("H3", "the last message is assistant", ".role")


def _roles(message: _Message) -> Iterator[Finding]:
    if message.role not in _ROLES:
        yield message.breaks("C13", f"role {message.role!r} is unknown", ".role")
    elif message.role == "developer" and not message.host.developer:
        yield message.breaks("C13", "the host does not know the role developer", ".role")
    unknown = message.value.keys() - message.host.keys
    if message.role == "tool" and "name" in message.value and not message.host.tool_names:
        unknown |= {"name"}
    if message.is_openai:
        unknown -= _TAKEN_BY_OPENAI.get(message.role, frozenset())
    for key in sorted(unknown & _REASONING):
        yield message.breaks("H2", f"the host takes no {key}", f".{key}")
    for key in sorted(unknown - _REASONING - (frozenset() if message.host.tools else _TOOL_KEYS), key=str):
        yield message.breaks("C5", f"the host knows no key {key!r}", f".{key}")


def _content(message: _Message) -> Iterator[Finding]:
    content = message.value.get("content")
    if content is None:
        waived = message.role == "assistant" and any(
            message.value.get(key) not in (None, []) for key in ("tool_calls", "function_call", "audio", "refusal")
        )
        if not waived:
            yield message.breaks("C5", "content is required", ".content")
    elif content == []:
        yield message.breaks("C5", "content is an empty list", ".content")
    elif not isinstance(content, (str, list)):
        yield message.breaks("C5", "content is neither a text nor a list", ".content")


def _parts(message: _Message) -> Iterator[Finding]:
    content = message.value.get("content")
    for at, part in enumerate(content if isinstance(content, list) else ()):
        path = f".content[{at}]"
        yield from _misplaced(message, part, path, alone=len(content or ()) == 1)
        if isinstance(part, Mapping):
            yield from _part(message, part, path)


def _misplaced(message: _Message, part: Any, path: str, *, alone: bool) -> Iterator[Finding]:
    kind = part.get("type") if isinstance(part, Mapping) else None
    if kind == "text":
        return
    if message.role in ("tool", "system", "developer"):
        rule = "C11" if message.role == "tool" else "C13"
        yield message.breaks(rule, f"{message.role} messages take no part {kind!r}", path)
    elif message.role == "assistant":
        if kind != "refusal" or not alone:
            yield message.breaks("C12", f"assistant messages take no part {kind!r} here", path)
    elif _USER_PARTS.get(str(kind)) not in message.host.media:
        yield message.breaks("C13", f"the host takes no part {kind!r}", path)


def _part(message: _Message, part: Mapping[str, Any], path: str) -> Iterator[Finding]:
    """Check a part's keys and its value; other hosts than OpenAI have keys and words of their own."""
    kind = str(part.get("type"))
    elsewhere = not message.is_openai
    for key, wrong in PARTS[kind].misfits(part, open_keys=elsewhere) if kind in PARTS else ():
        yield message.breaks("C5", f"{kind}: {wrong}", f"{path}{key}")
    value, known = part.get(kind), VALUES.get(kind)
    if known is None or kind not in part:
        return
    for key, wrong in known.misfits(value, open_keys=elsewhere):
        worded = isinstance(known.values.get(key[1:]), frozenset)
        if not (elsewhere and worded):
            yield message.breaks("C13" if worded else "C5", f"{kind}: {wrong}", f"{path}.{kind}{key}")
    if kind == "file" and not elsewhere and isinstance(value, Mapping) and not value.keys() & {"file_data", "file_id"}:
        yield message.breaks("C13", "a file without data and id", f"{path}.file")


def _tool(message: _Message) -> Iterator[Finding]:
    if message.role == "tool":
        if not isinstance(message.value.get("tool_call_id"), str):
            yield message.breaks("C2", "tool_call_id is missing", ".tool_call_id")
        if "is_error" in message.value or "status" in message.value:
            yield message.breaks("C11", "there is no error flag")
    elif message.value.get("tool_call_id") is not None:
        yield message.breaks("C2", f"{message.role} messages answer no call", ".tool_call_id")


def _tools(message: _Message) -> Iterator[Finding]:
    if not message.host.tools and (message.role == "tool" or message.value.get("tool_calls")):
        yield message.breaks("H4", "the host calls no tools")


def _calls(message: _Message) -> Iterator[Finding]:
    calls = message.value.get("tool_calls")
    if calls == [] and message.role == "assistant":
        yield message.breaks("C4", "tool_calls is empty", ".tool_calls")
    if calls and message.role != "assistant":
        yield message.breaks("C1", f"{message.role} messages make no calls", ".tool_calls")
    for at, call in message.calls:
        yield from _call(message, call, f".tool_calls[{at}]")


def _call(message: _Message, call: Mapping[str, Any], at: str) -> Iterator[Finding]:
    if not message.host.call_id.accepts(call.get("id")):
        yield message.breaks("C7", f"id {call.get('id')!r:.80} does not fit", f"{at}.id")
    if not isinstance(call.get("type"), str):
        yield message.breaks("C5", "a call without type", f"{at}.type")
    body = call.get("custom") if call.get("type") == "custom" else call.get("function")
    body = body if isinstance(body, Mapping) else {}
    if not CHAT_NAME.accepts(body.get("name")):
        yield message.breaks("C8", f"name {body.get('name')!r:.80} does not fit", f"{at}.function.name")
    if call.get("type") == "custom":
        if not message.host.custom_calls:
            yield message.breaks("C5", "the host knows no custom calls", f"{at}.type")
        return
    if not isinstance(body.get("arguments"), str):
        yield message.breaks("C9", "arguments are not a text", f"{at}.function.arguments")
    elif message.host.strict_arguments and not _is_object(body["arguments"]):
        yield message.breaks("C9", "arguments are no JSON object", f"{at}.function.arguments")


def _is_object(arguments: str) -> bool:
    try:
        return arguments == "" or isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False


def _speaker(message: _Message) -> Iterator[Finding]:
    name = message.value.get("name")
    if name is not None and not SPEAKER.accepts(name):
        yield message.breaks("C10", f"name {name!r:.80} does not fit", ".name")


def _reasoning(message: _Message) -> Iterator[Finding]:
    field = message.host.reasoning
    if message.host.requires_reasoning and message.calls and not isinstance(message.value.get(field), str):
        yield message.breaks("H1", f"{field} is missing", f".{field}")


_CHECKS: Final[Sequence[Callable[[_Message], Iterator[Finding]]]] = (
    _roles,
    _content,
    _parts,
    _tool,
    _tools,
    _calls,
    _speaker,
    _reasoning,
)
