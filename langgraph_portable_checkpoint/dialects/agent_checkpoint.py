"""agent-checkpoint files, both directions: one JSON object per line and conversation turn.

Written in the shape of OpenAI messages, which the format's reference adapter seeds without looking at `provider`; read
in that shape and in Anthropic's, which the tool writes for Claude Code sessions. What the format has no word for stands
under `_meta`, which its tools carry along.

Source: agent-checkpoint README (format, adapter contract); localab-checkpoint 0.3.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from ..envelope.model import MessageEnvelope, Origin
from ..errors import MalformedHistoryError
from .anthropic_read import API as MESSAGES
from .anthropic_read import read_message as read_anthropic
from .base import DeclaredLoss, ExportOptions, Field, Finding, ImportOptions, ReasoningRule, Rule, Target, without_raw
from .chat_read import API as CHAT
from .chat_read import read_message as read_chat
from .jsonl import BadLine, Line, first_objects, read_lines
from .lint.agent_checkpoint import RULES, lint_lines
from .openai_chat import OpenAIChat
from .plain_values import plain_or_told
from .problems import Problems
from .report import LossKind, Placed, Report

NAME: Final = "agent-checkpoint"
KEYS: Final = ("role", "content", "tool_calls", "tool_results", "provider", "model", "ts")
_META: Final = ("id", "name", "typed_by_user")
_RECOVERED: Final = "recovered"
"""The mark of messages that only older checkpoints hold, as an export with `full=True` makes it."""
_RESULT: Final = "tool_result"
"""Where the extras of a message keep what its result says in keys of its own."""
_RESULT_KEYS: Final = frozenset({"tool_call_id", "content", "is_error"})
_READ_META: Final = frozenset({*_META, _RECOVERED, "origin"})
_ANTHROPIC_BLOCKS: Final = frozenset(
    {"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "document", "image"}
)
_CONCERNS: Final[Mapping[str, str]] = {
    "dangling_call": "AC4",
    "orphan_result": "AC3",
    "duplicate_result": "AC3",
    "late_result": "AC3",
    "result_order": "AC3",
    "call_id": "AC3",
    "repeated_call_id": "AC3",
    "tool_name": "AC3",
    "message_name": "AC5",
    "role": "AC2",
    "message_keys": "AC5",
    "broken_text": "AC5",
    "empty_message": "AC5",
    "reasoning": "AC6",
    "refusal": "AC5",
    "server_tools": "AC6",
    "non_standard": "AC6",
    "media": "AC5",
    "tool_media": "AC5",
}


class AgentCheckpoint:
    """The dialect; see the module docstring."""

    name = NAME
    title = "agent-checkpoint files"
    providers: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()
    writes = True
    RULES: tuple[Rule, ...] = RULES
    FIELD_MAP: tuple[Field, ...] = (
        Field(neutral="role user, assistant, tool, system", native="role"),
        Field(neutral="text, media", native="content", note="a text, or parts as in OpenAI Chat Completions"),
        Field(neutral="tool_call", native="tool_calls[].function"),
        Field(neutral="tool message", native="tool_results[0]: tool_call_id, content", note="is_error for errors"),
        Field(neutral="origin.provider, origin.model", native="_meta.origin; model", note="provider names the shape"),
        Field(neutral="created_at", native="ts", note="else the option extra={'saved_at': ...}, else null"),
        Field(neutral="id, name, typed_by_user, extras.recovered", native="_meta"),
    )
    LOSSES: tuple[DeclaredLoss, ...] = (
        DeclaredLoss(
            rule="AC5",
            kind="dropped",
            when="citations, what a part or call says beside its content, keys of the source",
        ),
        DeclaredLoss(rule="AC5", kind="downgraded", when="arguments or keys of the source that hold what JSON cannot"),
        DeclaredLoss(rule="AC1", kind="downgraded", when="a repeated key, or a lone surrogate (import)"),
    )

    def target(self, options: ExportOptions) -> Target:
        """OpenAI's messages, with an error flag, and without what stands beside content there."""
        chat = OpenAIChat().target(replace(options, profile=None))
        media = {key: rule for key, rule in (chat.media or {}).items() if key[0] != "assistant"}
        return replace(
            chat,
            dialect=NAME,
            rules=_CONCERNS,
            tool_status=True,
            result_names=True,
            media=media,
            reasoning=ReasoningRule(replay="never"),
            refusal=False,
            non_standard="never",
        )

    def render(self, conversation: Sequence[Placed], options: ExportOptions, report: Report) -> dict[str, Any]:
        """Return `{"lines": [...]}`, one object per line."""
        chat = OpenAIChat().render(conversation, replace(options, profile=None), _AsOwn(report))
        saved_at = options.extra.get("saved_at")
        pairs = zip(chat["messages"], conversation, strict=True)
        lines = []
        for message, placed in pairs:
            line = _line(message, placed.envelope, saved_at)
            if kept := (placed.envelope.get("extras") or {}).get(NAME):
                tell = partial(report.add, "AC5", "downgraded", action="made values plain", at=placed)
                line = _with_own_keys(line, plain_or_told(kept, tell))
            lines.append(line)
        return {"lines": lines}

    def parse(self, payload: Any, options: ImportOptions, report: Report) -> list[MessageEnvelope]:
        """Read the lines of a checkpoint: text, bytes, or objects already read. A bad line refuses the whole file."""
        lines, problems = _lines(payload, report)
        found: list[MessageEnvelope] = []
        for line in _joined(lines):
            found += _read(line, options, problems)
        if not found and not problems.found:
            problems.add("", "holds no line")
        problems.raise_if_any()
        return found

    def recognises(self, payload: Any) -> float:
        """Lines with both tool_calls and tool_results are certain."""
        if isinstance(payload, (dict, Mapping)) and isinstance(payload.get("lines"), list):
            payload = payload["lines"]
        objects = first_objects(payload)
        known = [one for one in objects if {"role", "content", "tool_calls", "tool_results"} <= set(one)]
        return 0.98 if known and len(known) == len(objects) else 0.0

    def lint(self, payload: Any, options: ExportOptions) -> list[Finding]:
        """Check lines against the format."""
        return lint_lines(payload)


class _AsOwn(Report):
    """Passes the losses of OpenAI's renderer on under the rule of this format."""

    def __init__(self, own: Report) -> None:
        super().__init__(target=own.target)
        self.own = own

    def add(self, rule: str, kind: LossKind, **facts: Any) -> None:
        """Record a loss of content's shape."""
        self.own.add("AC5", kind, **facts)


def _line(message: Mapping[str, Any], envelope: MessageEnvelope, saved_at: Any) -> dict[str, Any]:
    origin = envelope.get("origin") or {}
    line: dict[str, Any] = {
        "role": message["role"],
        "content": message.get("content"),
        "tool_calls": message.get("tool_calls"),
        "tool_results": _results(message, envelope),
        "provider": "openai",
        "model": origin.get("model"),
        "ts": envelope.get("created_at") or saved_at,
    }
    meta: dict[str, Any] = {key: envelope[key] for key in _META if envelope.get(key) is not None}
    meta["origin"] = dict(origin)
    extras = envelope.get("extras") or {}
    if extras.get(_RECOVERED) is True:
        meta[_RECOVERED] = True
    return {**line, "_meta": meta}


def _with_own_keys(line: dict[str, Any], kept: Any) -> dict[str, Any]:
    """Put back the keys that a line of this dialect came with and the format does not know."""
    if not isinstance(kept, Mapping):
        return line
    own = kept.get("_meta")
    rest = {key: value for key, value in kept.items() if key not in line and key != _RESULT}
    return {**line, **rest, "_meta": {**(own if isinstance(own, Mapping) else {}), **line["_meta"]}}


def _results(message: Mapping[str, Any], envelope: MessageEnvelope) -> list[dict[str, Any]] | None:
    if message["role"] != "tool":
        return None
    kept = (envelope.get("extras") or {}).get(NAME)
    own = kept.get(_RESULT) if isinstance(kept, Mapping) else None
    found = {"tool_call_id": message.get("tool_call_id"), "content": message.get("content")}
    error = {"is_error": True} if envelope.get("status") == "error" else {}
    return [{**(own if isinstance(own, Mapping) else {}), **found, **error}]


def _lines(payload: Any, report: Report) -> tuple[list[Line], Problems]:
    problems = Problems(NAME)
    if isinstance(payload, (dict, Mapping)):
        payload = payload["lines"] if isinstance(payload.get("lines"), list) else [dict(payload)]
    if not isinstance(payload, (str, bytes, list)):
        raise MalformedHistoryError(NAME, [f"is {type(payload).__name__}, not line-delimited JSON"])
    good: list[Line] = []
    for line in read_lines(payload):
        if isinstance(line, BadLine):
            problems.add(f"line {line.number}", line.reason)
            continue
        for repair in line.repairs:
            report.add("AC1", "downgraded", action="mended a line", path=f"line {line.number}", detail=repair)
        good.append(line)
    return good, problems


def _joined(lines: Sequence[Line]) -> list[Line]:
    """Join assistant lines in Anthropic's shape that follow one another: the tool writes one per content block."""
    found: list[Line] = []
    for line in lines:
        before = found[-1].value if found else {}
        if _is_run(line.value) and _is_run(before):
            content = [*before["content"], *line.value["content"]]
            found[-1] = found[-1]._replace(value={**before, "content": content})
        else:
            found.append(line)
    return found


def _is_run(value: Mapping[str, Any]) -> bool:
    return (
        value.get("role") == "assistant"
        and value.get("provider") == "anthropic"
        and isinstance(value.get("content"), list)
    )


def _read(line: Line, options: ImportOptions, problems: Problems) -> Iterator[MessageEnvelope]:
    value, path = line.value, f"line {line.number}"
    origin = _origin(value, options)
    api = MESSAGES if _is_anthropic(value) else CHAT
    if api == MESSAGES:
        found = read_anthropic({**value, "role": value.get("role")}, path, origin=origin, problems=problems)
    else:
        _check_results(value.get("tool_results"), path, problems)
        messages = [read_chat(one, path, origin=origin, problems=problems) for one in _chat_messages(value)]
        found = [envelope for envelope in messages if envelope is not None]
    for envelope in found:
        own = envelope if origin.get("api") == api else _spelled_anew(envelope)
        yield _dressed(own, value)


def _spelled_anew(envelope: MessageEnvelope) -> MessageEnvelope:
    """Take away the raw form of blocks: the line spells them as another API than the one that the message came from."""
    if not [block for block in envelope["content"] if "raw" in block]:
        return envelope
    return {**envelope, "content": [without_raw(block) for block in envelope["content"]]}


def _is_anthropic(value: Mapping[str, Any]) -> bool:
    content, calls = value.get("content"), value.get("tool_calls")
    if type(content) is str and calls is None:
        return value.get("provider") == "anthropic"
    kinds = (
        {str(block.get("type")) for block in content if isinstance(block, (dict, Mapping))}
        if isinstance(content, list)
        else set()
    )
    kinds |= (
        {str(call.get("type")) for call in calls if isinstance(call, (dict, Mapping))}
        if isinstance(calls, list)
        else set()
    )
    return bool(kinds & _ANTHROPIC_BLOCKS) or (
        value.get("provider") == "anthropic" and isinstance(content, (list, str))
    )


def _check_results(results: Any, path: str, problems: Problems) -> None:
    for at, result in enumerate(results if isinstance(results, list) else ()):
        if not isinstance(result, (dict, Mapping)):
            problems.add(f"{path} tool_results[{at}]", "is not an object")


def _chat_messages(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    message = {"role": value.get("role"), "content": value.get("content")}
    if value.get("tool_calls") is not None:
        calls = value["tool_calls"]
        message["tool_calls"] = [*map(_chat_call, calls)] if isinstance(calls, list) else calls
    results = value.get("tool_results")
    if value.get("role") != "tool" or not isinstance(results, list) or not results:
        return [message]
    answers = [result if isinstance(result, (dict, Mapping)) else {} for result in results]
    return [
        {**message, "content": one.get("content", message["content"]), "tool_call_id": one.get("tool_call_id")}
        for one in answers
    ]


def _chat_call(call: Any) -> Any:
    """Spell a call as Chat Completions does where it says its name and arguments itself, as other loggers write it."""
    if not isinstance(call, (dict, Mapping)) or "name" not in call or "function" in call or "custom" in call:
        return call
    given = next((key for key in _ARGUMENTS if key in call), None)
    rest = {key: value for key, value in call.items() if key not in ("name", "type", given)}
    function = {"name": call["name"], **({"arguments": call[given]} if given else {})}
    return {**rest, "type": "function", "function": function}


_ARGUMENTS: Final = ("arguments", "args", "input", "parameters")


def _origin(value: Mapping[str, Any], options: ImportOptions) -> Origin:
    meta = value.get("_meta")
    kept = meta.get("origin") if isinstance(meta, (dict, Mapping)) else None
    origin: Origin = {}
    if kept == {}:
        return origin
    if isinstance(kept, (dict, Mapping)):
        origin.update({key: kept[key] for key in Origin.__annotations__ if isinstance(kept.get(key), str)})  # type: ignore[typeddict-item]  # its own keys
        return origin
    if isinstance(value.get("provider"), str):
        origin["provider"] = value["provider"]
        origin["api"] = MESSAGES if _is_anthropic(value) else CHAT
    model = value.get("model") or options.model
    if isinstance(model, str):
        origin["model"] = model
    return origin


def _dressed(envelope: MessageEnvelope, value: Mapping[str, Any]) -> MessageEnvelope:
    meta, results = value.get("_meta"), value.get("tool_results")
    if isinstance(value.get("ts"), str):
        envelope["created_at"] = value["ts"]
    if isinstance(meta, (dict, Mapping)):
        for key in ("id", "name"):
            if isinstance(meta.get(key), str):
                envelope[key] = meta[key]
        if meta.get("typed_by_user") is False:
            envelope["typed_by_user"] = False
    if extras := _beside(value, meta if isinstance(meta, (dict, Mapping)) else {}):
        envelope["extras"] = {**envelope.get("extras", {}), **extras}
    if envelope["role"] == "tool" and isinstance(results, list):
        mine = [
            one
            for one in results
            if isinstance(one, (dict, Mapping)) and one.get("tool_call_id") == envelope.get("tool_call_id")
        ]
        if any(one.get("is_error") is True for one in mine):
            envelope["status"] = "error"
        for rest in ({key: one[key] for key in one if key not in _RESULT_KEYS} for one in mine[:1]):
            _keep_of_result(envelope, rest)
    return envelope


def _keep_of_result(envelope: MessageEnvelope, rest: Mapping[str, Any]) -> None:
    """Keep what a result says in keys that the format does not know; its name is the message's where that has none."""
    if isinstance(rest.get("name"), str):
        envelope.setdefault("name", rest["name"])
    if rest:
        extras = envelope.get("extras", {})
        envelope["extras"] = {**extras, NAME: {**extras.get(NAME, {}), _RESULT: dict(rest)}}


def _beside(value: Mapping[str, Any], meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a line says in keys that the format does not know; it goes back there."""
    rest = {key: item for key, item in meta.items() if key not in _READ_META}
    own = {key: item for key, item in value.items() if key not in KEYS and key != "_meta"}
    own |= {"_meta": rest} if rest else {}
    marked = {_RECOVERED: True} if meta.get(_RECOVERED) is True else {}
    return marked | ({NAME: own} if own else {})
