"""Lines of agent-checkpoint files read as envelopes: what a line says, and in whose words.

Content keeps the shape of its provider; calls and results stand in fields of their own, whatever the provider. The tool
that writes these files repeats there what Anthropic's content holds already, so what has the id of a block of the
content is read once.

Source: agent-checkpoint README (format); localab-checkpoint 0.3.1, parsers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ..envelope.model import MessageEnvelope, Origin
from ..errors import MalformedHistoryError
from .anthropic_read import API as MESSAGES
from .anthropic_read import read_message as read_anthropic
from .arguments import read_call
from .base import ImportOptions, without_raw
from .chat_read import API as CHAT
from .chat_read import read_message as read_chat
from .jsonl import BadLine, Line, read_lines
from .problems import Problems
from .report import Report

NAME: Final = "agent-checkpoint"
KEYS: Final = ("role", "content", "tool_calls", "tool_results", "provider", "model", "ts")
META: Final = ("id", "name", "typed_by_user")
RECOVERED: Final = "recovered"
"""The mark of messages that only older checkpoints hold, as an export with `full=True` makes it."""
RESULT: Final = "tool_result"
"""Where the extras of a message keep what its result says in keys of its own."""
_RESULT_KEYS: Final = frozenset({"tool_call_id", "content", "is_error"})
_READ_META: Final = frozenset({*META, RECOVERED, "origin"})
_ANTHROPIC_BLOCKS: Final = frozenset(
    {"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "document", "image"}
)
_ARGUMENTS: Final = ("arguments", "args", "input", "parameters")
_NOTHING: Final[tuple[Any, ...]] = (None, "", [])


def read_turns(payload: Any, options: ImportOptions, report: Report) -> list[MessageEnvelope]:
    """Read all lines.

    Raises:
        MalformedHistoryError: There is no line, or one that cannot be read; all of these are named.
    """
    lines, problems = _lines(payload, report)
    found = [envelope for line in _joined(lines) for envelope in _read(line, options, problems, report)]
    if not found and not problems.found:
        problems.add("", "holds no line")
    problems.raise_if_any()
    return found


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
    open_run = False
    for line in lines:
        if open_run and _is_run(line.value):
            run = found[-1].value
            run["content"] += line.value["content"]
            run["tool_calls"] += line.value.get("tool_calls") or []
            run["tool_results"] = line.value.get("tool_results")
        elif _is_run(line.value):
            calls = [*(line.value.get("tool_calls") or [])]
            found.append(line._replace(value={**line.value, "content": [*line.value["content"]], "tool_calls": calls}))
        else:
            found.append(line)
        open_run = _is_run(line.value) and not line.value.get("tool_results")
    return found


def _is_run(value: Mapping[str, Any]) -> bool:
    return (
        value.get("role") == "assistant"
        and value.get("provider") == "anthropic"
        and isinstance(value.get("content"), list)
        and isinstance(value.get("tool_calls"), (list, type(None)))
    )


class _Part(NamedTuple):
    """Envelopes of a line, and the API whose words their blocks came in."""

    envelopes: Sequence[MessageEnvelope]
    api: str


def _read(line: Line, options: ImportOptions, problems: Problems, report: Report) -> Iterator[MessageEnvelope]:
    value, origin = line.value, _origin(line.value, options)
    if value.get("tool_calls") is None and value.get("tool_results") is None:
        part = _content(line, origin, problems)
        for at, envelope in enumerate(part.envelopes):
            yield _dressed(_in_words_of(origin, envelope, part.api), value, named=at == 0)
        return
    turn = _Turn(line, origin, problems, report)
    main, before, after = turn.main(), *turn.results()
    results = _by_call(value.get("tool_results"))
    named = next((envelope for part in (main, *before, *after) for envelope in part.envelopes), None)
    for part in (*before, main, *after):
        for envelope in part.envelopes:
            own = _dressed(_in_words_of(origin, envelope, part.api), value, named=envelope is named)
            call: Any = own.get("tool_call_id")
            yield _with_result(own, results[call]) if isinstance(call, (str, type(None))) and call in results else own


def _content(line: Line, origin: Origin, problems: Problems) -> _Part:
    """Read the content of a line without calls and results."""
    value, path = line.value, f"line {line.number}"
    role = value.get("role")
    if is_anthropic(value):
        native = {**value, "role": "user" if role == "tool" else role}
        return _Part(read_anthropic(native, path, origin=origin, problems=problems), MESSAGES)
    found = read_chat({"role": role, "content": value.get("content")}, path, origin=origin, problems=problems)
    return _Part([found] if found else [], CHAT)


def _by_call(results: Any) -> dict[str | None, list[Mapping[str, Any]]]:
    """Return the results of a line by the call that the format's own key names."""
    found: dict[str | None, list[Mapping[str, Any]]] = {}
    for one in results if isinstance(results, list) else ():
        if isinstance(one, (dict, Mapping)) and isinstance(one.get("tool_call_id"), (str, type(None))):
            found.setdefault(one.get("tool_call_id"), []).append(one)
    return found


class _Turn:
    """One line: its content, and the calls and results that its content does not hold."""

    def __init__(self, line: Line, origin: Origin, problems: Problems, report: Report) -> None:
        self.value, self.path, self.origin = line.value, f"line {line.number}", origin
        self._problems, self._report = problems, report
        content = line.value.get("content")
        blocks = [block for block in content if isinstance(block, (dict, Mapping))] if isinstance(content, list) else []
        self._made = {str(one.get("id")): one for one in blocks if one.get("type") == "tool_use"}
        self._given = {str(one.get("tool_use_id")): one for one in blocks if one.get("type") == "tool_result"}
        self._calls = self._objects("tool_calls")
        self._results = [one for one in self._objects("tool_results") if not self._is_held(one)]

    def _objects(self, key: str) -> list[Mapping[str, Any]]:
        found = self.value.get(key)
        if found is not None and not isinstance(found, list):
            self._problems.add(f"{self.path} {key}", f"is {type(found).__name__}, not a list")
        items = found if isinstance(found, list) else []
        for at, item in enumerate(items):
            if not isinstance(item, (dict, Mapping)):
                self._problems.add(f"{self.path} {key}[{at}]", "is not an object")
        return [item for item in items if isinstance(item, (dict, Mapping))]

    def _is_held(self, result: Mapping[str, Any]) -> bool:
        """True for a result that the content holds too; one that says something else there is told."""
        held = self._given.get(str(_id_of(result)))
        if held is not None and _words(held) != _words(result):
            self._tell("left out a result that the content tells otherwise", f"call {_id_of(result)}")
        return held is not None

    def _tell(self, action: str, detail: str) -> None:
        self._report.add("AC3", "dropped", action=action, path=self.path, detail=detail)

    def main(self) -> _Part:
        """Read the content with the calls; nothing where the line only holds results."""
        content, role = self.value.get("content"), self.value.get("role")
        if is_anthropic(self.value):
            return self._in_anthropics_words("user" if role == "tool" else role)
        if self._results and (role == "tool" or (content in _NOTHING and not self._calls)):
            return _Part((), CHAT)
        message = {"role": role, "content": content}
        if self._calls:
            message["tool_calls"] = [*map(_chat_call, self._calls)]
        found = read_chat(message, self.path, origin=self.origin, problems=self._problems)
        return _Part([found] if found else [], CHAT)

    def _in_anthropics_words(self, role: Any) -> _Part:
        content = self.value.get("content")
        calls = [*self._calls_beside()]
        if calls or content is None:
            said = content if isinstance(content, list) else [] if content in _NOTHING else [content]
            content = [*said, *calls]
        if self._results and content in _NOTHING:
            return _Part((), MESSAGES)
        native = {**self.value, "role": role, "content": content}
        return _Part(read_anthropic(native, self.path, origin=self.origin, problems=self._problems), MESSAGES)

    def _calls_beside(self) -> Iterator[dict[str, Any]]:
        """Spell as Anthropic does the calls that the content does not hold; one that says else there is told."""
        for call in self._calls:
            written, held = _tool_use(call), self._made.get(str(call.get("id")))
            if held is None:
                yield written
            elif (held.get("name"), held.get("input")) != (written["name"], written["input"]):
                self._tell("left out a call that the content tells otherwise", f"call {call.get('id')}")

    def results(self) -> tuple[list[_Part], list[_Part]]:
        """Read the results beside the content: those of earlier calls, which stand before it, and of its own."""
        made = {*self._made, *(str(call.get("id")) for call in self._calls)}
        before = [self._result(one) for one in self._results if str(_id_of(one)) not in made]
        after = [self._result(one) for one in self._results if str(_id_of(one)) in made]
        if self._results and not self._is_content_told():
            self._tell("left out content that its result tells otherwise", f"call {_id_of(self._results[0])}")
        return before, after

    def _is_content_told(self) -> bool:
        """True if nothing of the content is lost: on a tool's line it is that of a result, elsewhere a message."""
        content = self.value.get("content")
        if self.value.get("role") != "tool" or self._given or content in _NOTHING:
            return True
        return any(one.get("content") is None or _words(one)[0] == _text(content) for one in self._results)

    def _result(self, result: Mapping[str, Any]) -> _Part:
        content = result.get("content")
        if content is None and self.value.get("role") == "tool" and not self._given:
            content = self.value.get("content")
        if result.get("type") == "tool_result" or "tool_use_id" in result or _kinds(content) & {"image", "document"}:
            own = result if "tool_use_id" in result else {}
            block = {**own, "type": "tool_result", "tool_use_id": _id_of(result), "content": content}
            block |= {"is_error": result["is_error"]} if "is_error" in result else {}
            native: Any = {"role": "user", "content": [block]}
            return _Part(read_anthropic(native, self.path, origin=self.origin, problems=self._problems), MESSAGES)
        native = {"role": "tool", "content": content, "tool_call_id": result.get("tool_call_id")}
        found = read_chat(native, self.path, origin=self.origin, problems=self._problems)
        return _Part([found] if found else [], CHAT)


def is_anthropic(value: Mapping[str, Any]) -> bool:
    """True if a line's content and calls are in the words of Anthropic's API."""
    content, calls = value.get("content"), value.get("tool_calls")
    if value.get("role") == "tool":
        return "tool_result" in _kinds(content)
    if type(content) is str and calls is None:
        return value.get("provider") == "anthropic"
    kinds = _kinds(content) | _kinds(calls)
    return bool(kinds & _ANTHROPIC_BLOCKS) or (
        value.get("provider") == "anthropic" and isinstance(content, (list, str))
    )


def _kinds(items: Any) -> set[str]:
    found: Iterable[Any] = items if isinstance(items, list) else ()
    return {str(item.get("type")) for item in found if isinstance(item, (dict, Mapping))}


def _id_of(result: Mapping[str, Any]) -> Any:
    return result["tool_use_id"] if "tool_use_id" in result else result.get("tool_call_id")


def _words(result: Mapping[str, Any]) -> tuple[Any, bool]:
    """Return what a result says, in a form that is the same in both APIs."""
    return _text(result.get("content")), result.get("is_error") is True


def _text(content: Any) -> Any:
    """Return content as one text if it is a list of texts alone."""
    if not isinstance(content, list) or not all(isinstance(part, (dict, Mapping)) for part in content):
        return content
    texts = [part.get("text") for part in content if part.get("type") == "text"]
    return "".join(map(str, texts)) if len(texts) == len(content) else content


def _chat_call(call: Any) -> Any:
    """Spell a call as Chat Completions does where it says its name and arguments itself, as other loggers write it."""
    if not isinstance(call, (dict, Mapping)) or "name" not in call or "function" in call or "custom" in call:
        return call
    given = next((key for key in _ARGUMENTS if key in call), None)
    rest = {key: value for key, value in call.items() if key not in ("name", "type", given)}
    function = {"name": call["name"], **({"arguments": call[given]} if given else {})}
    return {**rest, "type": "function", "function": function}


def _tool_use(call: Mapping[str, Any]) -> dict[str, Any]:
    """Spell a call as Anthropic does."""
    if call.get("type") == "tool_use":
        return {**call, "name": call.get("name"), "input": call.get("input")}
    spelled = _chat_call(call)
    custom, function = spelled.get("custom"), spelled.get("function")
    if isinstance(custom, (dict, Mapping)):
        name, args = custom.get("name"), {"__arg1": custom.get("input")}
    else:
        function = function if isinstance(function, (dict, Mapping)) else {}
        name = function.get("name")
        args = read_call(function.get("arguments"), call_id=None, name=None)["args"]
    return {"type": "tool_use", "id": call.get("id"), "name": name, "input": args}


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
        origin["api"] = MESSAGES if is_anthropic(value) else CHAT
    model = value.get("model") or options.model
    if isinstance(model, str):
        origin["model"] = model
    return origin


def _in_words_of(origin: Origin, envelope: MessageEnvelope, api: str) -> MessageEnvelope:
    """Take away the raw form of blocks where a line spells them as another API than the one of its message."""
    if origin.get("api") == api or not [block for block in envelope["content"] if "raw" in block]:
        return envelope
    return {**envelope, "content": [without_raw(block) for block in envelope["content"]]}


def _dressed(envelope: MessageEnvelope, value: Mapping[str, Any], *, named: bool) -> MessageEnvelope:
    """Add what a line says beside its content; its id is that of one message."""
    meta = value.get("_meta")
    if isinstance(value.get("ts"), str):
        envelope["created_at"] = value["ts"]
    if isinstance(meta, (dict, Mapping)):
        for key in ("id", "name"):
            if isinstance(meta.get(key), str) and (named or key != "id"):
                envelope[key] = meta[key]
        if meta.get("typed_by_user") is False:
            envelope["typed_by_user"] = False
    if extras := _beside(value, meta if isinstance(meta, (dict, Mapping)) else {}):
        envelope["extras"] = {**envelope.get("extras", {}), **extras}
    return envelope


def _with_result(envelope: MessageEnvelope, results: Sequence[Mapping[str, Any]]) -> MessageEnvelope:
    """Add to a result what the format's field says beside its content."""
    if any(one.get("is_error") is True for one in results):
        envelope["status"] = "error"
    for rest in ({key: one[key] for key in one if key not in _RESULT_KEYS} for one in results[:1]):
        _keep_of_result(envelope, rest)
    return envelope


def _keep_of_result(envelope: MessageEnvelope, rest: Mapping[str, Any]) -> None:
    """Keep what a result says in keys that the format does not know; its name is the message's where that has none."""
    if isinstance(rest.get("name"), str):
        envelope.setdefault("name", rest["name"])
    if rest:
        extras = envelope.get("extras", {})
        envelope["extras"] = {**extras, NAME: {**extras.get(NAME, {}), RESULT: dict(rest)}}


def _beside(value: Mapping[str, Any], meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a line says in keys that the format does not know; it goes back there."""
    rest = {key: item for key, item in meta.items() if key not in _READ_META}
    own = {key: item for key, item in value.items() if key not in KEYS and key != "_meta"}
    own |= {"_meta": rest} if rest else {}
    marked = {RECOVERED: True} if meta.get(RECOVERED) is True else {}
    return marked | ({NAME: own} if own else {})
