"""LangChain messages as JSON, both directions: `messages_to_dict`, and on import `model_dump` and the lc constructor.

A neutral dialect: a history stays as it is. Chunks of a streamed answer are merged; of a recorded run ("values" and
"messages" events) the last state counts. Classes are chosen by a table, never by a name's import path.

Source: langchain-core 1.8 messages_to_dict, load.dumpd; langgraph stream modes.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ..envelope.model import Block, MessageEnvelope
from ..errors import MalformedHistoryError
from .base import DeclaredLoss, ExportOptions, Field, Finding, ImportOptions, Rule, Target
from .langchain_read import everyday_envelope
from .langchain_write import everyday_dict
from .plain_values import is_everyday, is_plain, plain_or_told
from .problems import Problems
from .report import Placed, Report
from .responses_read import lift_items

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

NAME: Final = "langchain"
CLASSES: Final[Mapping[str, str]] = {
    "human": "HumanMessage",
    "user": "HumanMessage",
    "ai": "AIMessage",
    "assistant": "AIMessage",
    "system": "SystemMessage",
    "developer": "SystemMessage",
    "tool": "ToolMessage",
    "function": "FunctionMessage",
    "chat": "ChatMessage",
    "HumanMessageChunk": "HumanMessageChunk",
    "AIMessageChunk": "AIMessageChunk",
    "SystemMessageChunk": "SystemMessageChunk",
    "ToolMessageChunk": "ToolMessageChunk",
    "ChatMessageChunk": "ChatMessageChunk",
}
_KNOWN: Final = frozenset({*CLASSES.values()})
_SOURCE: Final = "langchain-core 1.8"
_CONCERNS: Final = {"media": "L1", "broken_text": "L1", "tool_name": "L1"}


class LangChain:
    """The dialect; see the module docstring."""

    name = NAME
    title = "LangChain messages as JSON"
    providers: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()
    writes = True
    RULES: tuple[Rule, ...] = (
        Rule(id="L1", text="a message is {type, data}, a model dump with type, or an lc constructor", source=_SOURCE),
        Rule(id="L2", text="a RemoveMessage is a command to a reducer, no message", source=_SOURCE),
        Rule(id="L3", text="chunks with one id are one message", source=_SOURCE),
    )
    FIELD_MAP: tuple[Field, ...] = (
        Field(neutral="a message envelope", native="{type, data}", note="as messages_to_dict gives it"),
        Field(neutral="what LangChain has no field for", native="additional_kwargs", note="read back from there"),
    )
    LOSSES: tuple[DeclaredLoss, ...] = (
        DeclaredLoss(rule="L1", kind="downgraded", when="values that JSON cannot hold: NaN, lone surrogates"),
        DeclaredLoss(rule="L2", kind="dropped", when="a RemoveMessage (import)"),
        DeclaredLoss(rule="L3", kind="merged", when="chunks of one message (import)"),
    )

    def target(self, options: ExportOptions) -> Target:
        """A history stays as it is."""
        return Target(dialect=NAME, rules=_CONCERNS, mid_system="keep", pairs=False, keeps_empty=True)

    def render(self, conversation: Sequence[Placed], options: ExportOptions, report: Report) -> dict[str, Any]:
        """Return `{"messages": [...]}`, which `messages_from_dict` takes."""
        from langchain_core.messages import messages_to_dict

        from ..envelope.write import write_message, write_parts

        found = []
        for placed in conversation:
            everyday = everyday_dict(placed.envelope)
            if everyday is not None:
                found.append(everyday)
                continue
            parts = write_parts(placed.envelope)
            if parts is not None and is_plain(parts):
                found.append({"type": parts["type"], "data": parts})
                continue
            plain = is_everyday(placed.envelope)
            (message,) = messages_to_dict([write_message(placed.envelope if plain else _jsonable(placed.envelope))])
            tell = partial(report.add, "L1", "downgraded", action="made values plain that JSON cannot hold", at=placed)
            found.append(message if plain else plain_or_told(message, tell))
        return {"messages": found}

    def parse(self, payload: Any, options: ImportOptions, report: Report) -> list[MessageEnvelope]:
        """Read a list of messages in any of the three forms, a state with `messages`, or recorded events."""
        from ..envelope.read import read_message

        problems = Problems(NAME)
        natives, root = _messages(payload, problems)
        messages = [_message(native, f"{root}[{at}]", problems, report) for at, native in enumerate(natives)]
        problems.raise_if_any()
        merged = _merged([message for message in messages if message is not None], report)
        return [message if isinstance(message, dict) else lift_items(read_message(message)) for message in merged]

    def recognises(self, payload: Any) -> float:
        """A `type` of LangChain's with data or content, or an lc constructor of a message."""
        natives, _ = _messages(payload, Problems(NAME))
        if not natives or not all(isinstance(native, (dict, Mapping)) for native in natives):
            return 0.0
        if all(_class_of(native) for native in natives):
            return 0.95
        return 0.0

    def lint(self, payload: Any, options: ExportOptions) -> list[Finding]:
        """Return what is no message, with its path."""
        problems = Problems(NAME)
        natives, root = _messages(payload, problems)
        for at, native in enumerate(natives):
            _message(native, f"{root}[{at}]", problems, Report(target=NAME))
        return [Finding(rule="L1", path="", message=problem) for problem in problems.found]


def _jsonable(envelope: MessageEnvelope) -> MessageEnvelope:
    """Spell bytes as base64, and leave out native forms that hold some: they are there in memory only."""
    content = [_without_bytes(block) for block in envelope["content"]]
    if _holds_bytes(envelope.get("raw_content")):
        envelope = {**envelope}
        envelope.pop("raw_content")
    return {**envelope, "content": content}


def _without_bytes(block: Block) -> Block:
    if "data" in block:
        block = {**block, "base64": base64.b64encode(block["data"]).decode()}
        block.pop("data")
    if _holds_bytes(block.get("raw")):
        block = {**block}
        block.pop("raw")
    return block


def _holds_bytes(value: Any) -> bool:
    if isinstance(value, (dict, Mapping)):
        return any(map(_holds_bytes, value.values()))
    return isinstance(value, bytes) or (isinstance(value, list) and any(map(_holds_bytes, value)))


def _messages(payload: Any, problems: Problems) -> tuple[list[Any], str]:
    """Return the list of messages and its path; of recorded events that of the last state, else all chunks."""
    if isinstance(payload, (dict, Mapping)) and isinstance(payload.get("messages"), list):
        return payload["messages"], "messages"
    if isinstance(payload, (dict, Mapping)) and _class_of(payload):
        return [payload], ""
    if not isinstance(payload, list):
        problems.add("", f"is {type(payload).__name__}, not a list of messages")
        return [], ""
    states = [at for at, event in enumerate(payload) if _is_state(event)]
    if states:
        return payload[states[-1]][1]["messages"], f"[{states[-1]}][1].messages"
    if payload and all(_chunk(event) is not None for event in payload):
        return [_chunk(event) for event in payload], ""
    return payload, ""


def _is_state(event: Any) -> bool:
    if not isinstance(event, list) or len(event) != 2 or not isinstance(event[1], (dict, Mapping)):
        return False
    return isinstance(event[1].get("messages"), list)


def _chunk(event: Any) -> Any:
    """The message of a "messages" event, which is (mode or namespace, (message, metadata)) or (message, metadata)."""
    if not isinstance(event, list) or len(event) != 2:
        return None
    inner = event[1] if isinstance(event[1], list) and event[1] else event
    return inner[0] if isinstance(inner[0], (dict, Mapping)) and _class_of(inner[0]) else None


def _class_of(native: Mapping[str, Any]) -> str | None:
    """Name the class of a message in one of the three forms."""
    path = native.get("id")
    if native.get("lc") is not None and isinstance(path, list) and path:
        return str(path[-1]) if path[-1] in (*_KNOWN, "RemoveMessage") else None
    kind = native.get("type")
    if kind == "remove":
        return "RemoveMessage"
    body = isinstance(native.get("data"), (dict, Mapping)) or "content" in native
    return CLASSES.get(kind) if isinstance(kind, str) and body else None


def _message(native: Any, path: str, problems: Problems, report: Report) -> BaseMessage | MessageEnvelope | None:
    """Read a message; an everyday one as its envelope."""
    found = problems.plain_mapping(native, path)
    if found is None:
        return None
    return everyday_envelope(found) or _made(found, path, problems, report)


def _made(found: Mapping[str, Any], path: str, problems: Problems, report: Report) -> BaseMessage | None:
    import langchain_core.messages as known
    from pydantic import ValidationError

    name = _class_of(found)
    if name == "RemoveMessage":
        report.add("L2", "dropped", action="left out a command to remove a message", path=path)
        return None
    if name is None:
        problems.add(path, f"is no message of LangChain (type {str(found.get('type'))[:40]!r})")
        return None
    try:
        message: BaseMessage = getattr(known, name)(**_fields(found, name))
    except (ValidationError, TypeError, ValueError, LookupError, AttributeError) as error:
        problems.add(path, _reason(error))
        return None
    return message


def _fields(native: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The constructor's arguments: what stands under kwargs, data, or beside the type."""
    kwargs = native.get("kwargs") if native.get("lc") is not None else native.get("data")
    fields = dict(kwargs if isinstance(kwargs, (dict, Mapping)) else native)
    fields.pop("type", None)
    fields["content"] = _known_content("" if fields.get("content") is None else fields["content"])
    if name == "AIMessageChunk" and fields.get("tool_call_chunks"):
        fields = {key: value for key, value in fields.items() if key not in ("tool_calls", "invalid_tool_calls")}
    for key, wanted in _CALL_KEYS.items():
        if isinstance(fields.get(key), list):
            fields[key] = [_call(call, wanted) for call in fields[key]]
        elif fields.get(key) is not None:
            raise TypeError(f"{key} is no list")
    return fields


_CALL_KEYS: Final[Mapping[str, Mapping[str, Any]]] = {
    "tool_calls": {"name": "", "args": {}, "id": None},
    "invalid_tool_calls": {"name": None, "args": None, "id": None, "error": None},
    "tool_call_chunks": {"name": None, "args": None, "id": None, "index": None},
}


def _call(call: Any, wanted: Mapping[str, Any]) -> Any:
    """A call with all keys that its constructor asks for, and no other."""
    return (
        {key: call.get(key, default) for key, default in wanted.items()} if isinstance(call, (dict, Mapping)) else call
    )


def _known_content(content: Any) -> Any:
    """LangChain takes a text, or a list of texts and parts; other values, which tracers make of JSON, as JSON text."""
    if isinstance(content, list) and any(isinstance(item, str) or _is_part(item) for item in content):
        return [item if isinstance(item, (str, dict)) else json.dumps(item) for item in content]
    return content if isinstance(content, str) or content == [] else json.dumps(content, ensure_ascii=False)


def _is_part(item: Any) -> bool:
    return isinstance(item, (dict, Mapping)) and not item.keys().isdisjoint(_PART_KEYS)


_PART_KEYS: Final = ("type", "toolUse", "toolResult", "reasoningContent", "functionCall", "text", "cachePoint")


def _reason(error: Exception) -> str:
    """Say what is wrong without repeating the message's content."""
    from pydantic import ValidationError

    if isinstance(error, ValidationError):
        first = error.errors(include_input=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return f"cannot be built: {type(error).__name__}"


def _sum(run: Sequence[Any]) -> Any:
    try:
        return sum(run[1:], start=run[0])
    except TypeError as error:
        raise MalformedHistoryError(NAME, [f"chunks of {run[0].id}: {error}"]) from error


def _merged(
    messages: Sequence[BaseMessage | MessageEnvelope], report: Report
) -> Iterator[BaseMessage | MessageEnvelope]:
    """Merge chunks with one id, also where those of others stand between; each stands where its first one stood."""
    from langchain_core.messages import BaseMessageChunk, message_chunk_to_message

    if not any(isinstance(message, BaseMessageChunk) for message in messages):
        yield from messages
        return
    runs: dict[Any, list[Any]] = {}
    for at, message in enumerate(messages):
        run_id = message.id if isinstance(message, BaseMessageChunk) else None
        runs.setdefault(at if run_id is None else (type(message), run_id), []).append(message)
    for run in runs.values():
        whole = run[0] if len(run) == 1 else _sum(run)
        if len(run) > 1:
            report.add("L3", "merged", action=f"merged {len(run)} chunks")
        yield message_chunk_to_message(whole) if isinstance(whole, BaseMessageChunk) else whole
