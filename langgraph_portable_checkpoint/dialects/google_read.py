"""Gemini contents to message envelopes: every form a history comes in, and which response answers which call.

Reads the REST and the Python spelling, requests, responses (streamed ones joined), and lists of either. Knows nothing
of how contents are written; parts are read by `google_parts.py`.

Source: ai.google.dev/gemini-api/docs/function-calling; rules G1, G2, G5, G8.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ..envelope.model import ENVELOPE_VERSION, Block, MessageEnvelope, Origin
from .base import ImportOptions
from .chat_read import tell_other_answers
from .google_cli import contents_of, is_recording
from .google_parts import Part, answer_blocks, block_of, camel, camel_keys, made_id
from .google_sources import SOURCES, cite
from .jsonl import MAX_DEPTH, BadLine, Line, read_lines, too_deep
from .long_integers import with_text_arguments
from .number_limits import made_of_json, unfit
from .report import Report

NAME: Final = "google"
API: Final = "generate-content"
PROVIDERS: Final = {"gemini": "google", "vertex": "google-vertex"}


@dataclass
class Payload:
    """Any of the forms a history comes in, as contents with their paths."""

    raw: Any
    contents: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    system: Any = None
    facts: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """By path of a content: the response that it came in."""
    problems: list[str] = field(default_factory=list)
    other_answers: dict[str, int] = field(default_factory=dict)
    """By path of a response's candidates: how many there are beside the one that is read."""
    left_out: int = 0
    """Messages of a recording that are no part of the conversation."""

    def __post_init__(self) -> None:
        plain = made_of_json(self.raw, MAX_DEPTH)
        if not plain and too_deep(self.raw):
            self.problems.append(f"payload: is nested deeper than {MAX_DEPTH}")
            return
        self._take(self._objects(self.raw) if isinstance(self.raw, (str, bytes)) else self.raw, "")
        if not plain:
            self.contents = [(path, with_text_arguments(content, NAME)) for path, content in self.contents]
            whole = [*self.contents, ("system_instruction", self.system), *self._sources()]
            self.problems += [f"{path}: {reason}" for path, content in whole if (reason := unfit(content))]
            self.problems += [f"{path}.{where}: is bytes, not JSON" for path, value in whole for where in _bytes(value)]
        if isinstance(self.system, (dict, Mapping)) and not isinstance(self.system.get("parts", []), list):
            self.problems.append(f"system_instruction.parts: is {type(self.system['parts']).__name__}, not a list")
        if not self.problems and not self.contents and self.system is None:
            self.problems.append("no contents")

    def _sources(self) -> Iterator[tuple[str, Any]]:
        """Yield what responses say of their sources, with its path."""
        for path, facts in self.facts.items():
            yield from ((f"{path}.{key}", facts[key]) for key in SOURCES if key in facts)

    def _objects(self, text: str | bytes) -> list[Any]:
        """The objects of a file of recorded calls, one per line."""
        lines = list(read_lines(text))
        self.problems += [f"line {line.number}: {line.reason}" for line in lines if isinstance(line, BadLine)]
        return [line.value for line in lines if isinstance(line, Line)]

    def _take(self, value: Any, path: str) -> None:
        if isinstance(value, str):
            self.contents.append((path, {"role": "user", "parts": [{"text": value}]}))
        elif isinstance(value, list):
            for index, item in enumerate(value):
                self._take(item, f"{path}[{index}]")
        elif isinstance(value, (dict, Mapping)):
            self._take_mapping(value, path)
        else:
            self.problems.append(f"{path or 'payload'}: is {type(value).__name__}, not contents")

    def _take_mapping(self, value: Mapping[str, Any], path: str) -> None:
        if value and value.keys() <= _CONTENT_KEYS:
            self._take_content(value, path)
            return
        keys = camel_keys({str(key): item for key, item in value.items()})
        if "candidates" in keys:
            self._take_responses([value], path)
        elif "method" in keys and "response" in keys:
            recorded = keys["response"]
            self._take_responses(recorded if isinstance(recorded, list) else [recorded], f"{path}.response")
        elif is_recording(keys):
            self._take_recording(keys["messages"], f"{path}.messages".lstrip("."))
        elif "contents" in keys:
            config = keys.get("config") if isinstance(keys.get("config"), (dict, Mapping)) else {}
            self.system = keys.get("systemInstruction") or camel_keys(config or {}).get("systemInstruction")
            self._take(keys["contents"], f"{path}.contents".lstrip("."))
        elif "parts" in keys or "role" in keys:
            self._take_content(value, path)
        elif set(keys) <= {"systemInstruction"} and keys:
            self.system = keys["systemInstruction"]
        else:
            self.problems.append(f"{path or 'payload'}: neither a content nor a request nor a response")

    def _take_recording(self, messages: list[Any], path: str) -> None:
        for index, message in enumerate(messages):
            found = list(contents_of(message))
            self.left_out += not found
            for inside, content, facts in found:
                where = f"{path}[{index}]{inside}"
                self.facts[where] = facts
                self._take_content(content, where)

    def _take_responses(self, chunks: Sequence[Any], path: str) -> None:
        """Join the chunks of one streamed response into one content."""
        facts, answers = self._answers(chunks, path)
        first = answers[min(answers)] if answers else []
        parts = [part for candidate in first for part in _parts_of(candidate)]
        for candidate in first:
            facts |= {key: value for key, value in camel_keys(candidate).items() if key in _ANSWER_FACTS}
        if len(answers) > 1:
            self.other_answers[f"{path}.candidates".lstrip(".")] = len(answers) - 1
        path = f"{path}.candidates[0].content".lstrip(".")
        self.facts[path] = facts
        self._take_content({"role": "model", "parts": parts}, path)

    def _answers(self, chunks: Sequence[Any], path: str) -> tuple[dict[str, Any], dict[int, list[Mapping[str, Any]]]]:
        """Return what the chunks of a response say beside its answers, and each answer's candidates by its index."""
        answers: dict[int, list[Mapping[str, Any]]] = {}
        facts: dict[str, Any] = {}
        for index, chunk in enumerate(chunks):
            if not isinstance(chunk, (dict, Mapping)):
                self.problems.append(f"{path}[{index}]: is {type(chunk).__name__}, not a response")
                continue
            keys = camel_keys(chunk)
            facts |= keys
            candidates = keys.get("candidates")
            if candidates is not None and not isinstance(candidates, list):
                self.problems.append(f"{path}[{index}].candidates: is {type(candidates).__name__}, not a list")
                continue
            for at, candidate in enumerate(candidates or ()):
                if isinstance(candidate, (dict, Mapping)):
                    answers.setdefault(_answer_index(candidate, at), []).append(candidate)
        return facts, answers

    def _take_content(self, content: Mapping[str, Any], path: str) -> None:
        role, parts = content.get("role"), content.get("parts")
        if role not in (None, "user", "model", "function", "system"):
            self.problems.append(f"{path}.role: {role!r:.40} is not user or model (G2)")
        if parts is not None and not isinstance(parts, list):
            self.problems.append(f"{path}.parts: is {type(parts).__name__}, not a list")
            return
        for index, part in enumerate(parts or ()):
            if not isinstance(part, (Mapping, str)):
                self.problems.append(f"{path}.parts[{index}]: is {type(part).__name__}, not a part")
        self.contents.append((path, content))


_BYTES: Final = frozenset({"data", "thoughtSignature", "thought_signature"})
"""Keys under which Google's SDK has bytes."""


def _bytes(value: Any, path: str = "") -> Iterator[str]:
    """Yield the paths of bytes where Google's SDK has none. The value is not nested deeper than `MAX_DEPTH`."""
    if isinstance(value, (dict, Mapping)):
        for key, item in value.items():
            if key not in _BYTES or not isinstance(item, bytes):
                yield from _bytes(item, f"{path}.{key}")
    elif isinstance(value, (list, tuple)):
        for at, item in enumerate(value):
            yield from _bytes(item, f"{path}[{at}]")
    elif isinstance(value, bytes):
        yield path.lstrip(".")


def _answer_index(candidate: Mapping[str, Any], at: int) -> int:
    """Tell which of several answers a candidate is part of: a streamed chunk may hold any of them."""
    index = candidate.get("index")
    return index if type(index) is int else at


def _parts_of(candidate: Mapping[str, Any]) -> Sequence[Any]:
    content = candidate.get("content")
    parts = content.get("parts") if isinstance(content, (dict, Mapping)) else None
    return parts if isinstance(parts, list) else ()


_ANSWER_FACTS: Final = frozenset({"finishReason", *SOURCES})
_CONTENT_KEYS: Final = frozenset({"role", "parts"})
_TEXT_ALONE: Final = frozenset({"text"})


class Reader:
    """Turns contents into envelopes; holds the calls of the last model content that are not answered yet."""

    def __init__(self, options: ImportOptions, report: Report) -> None:
        self.origin: Origin = {"provider": PROVIDERS.get(options.profile or "gemini", "google"), "api": API}
        if options.model:
            self.origin["model"] = options.model
        if options.account:
            self.origin["account"] = options.account
        self.report = report
        self.open: list[Block] = []

    def envelopes(self, payload: Payload) -> Iterator[MessageEnvelope]:
        if payload.left_out:
            self.report.add("G1", "dropped", action=f"left out {payload.left_out} messages of the tool itself")
        for path, count in payload.other_answers.items():
            tell_other_answers(count, self.report, path=path)
        if payload.system is not None:
            yield from self._system(payload.system)
        for number, (path, content) in enumerate(payload.contents):
            parts = [{"text": part} if isinstance(part, str) else part for part in content.get("parts") or ()]
            if not parts:
                self.report.add("G1", "dropped", action="left out a content without parts", path=path)
            elif content.get("role") == "model":
                yield self._model(number, content, parts, payload.facts.get(path, {}))
            elif content.get("role") == "system":
                yield self._envelope("system", [block_of(part) for part in parts])
            else:
                yield from self._user(content, parts, path)

    def _envelope(self, role: Any, content: list[Block], **more: Any) -> MessageEnvelope:
        envelope: MessageEnvelope = {"v": ENVELOPE_VERSION, "role": role, "content": content, "origin": self.origin}
        envelope.update(more)  # type: ignore[typeddict-item]  # keys are the model's own
        return envelope

    def _system(self, system: Any) -> Iterator[MessageEnvelope]:
        found = (
            system.get("parts")
            if isinstance(system, (dict, Mapping))
            else system
            if isinstance(system, list)
            else [system]
        )
        parts = [{"text": part} if isinstance(part, str) else part for part in found or () if part]
        blocks = [block_of(part) for part in parts if isinstance(part, dict)]
        if blocks:
            self._tell_beside(system)
            yield self._envelope("system", blocks)

    def _model(
        self, number: int, content: Mapping[str, Any], parts: Sequence[Part], facts: Mapping[str, Any]
    ) -> MessageEnvelope:
        blocks = [block_of(part) for part in parts]
        calls = [block for block in blocks if block["type"] in ("tool_call", "invalid_tool_call")]
        for index, call in enumerate(calls):
            call.setdefault("id", made_id(number, index))
        self.open = calls
        envelope = self._envelope("assistant", blocks, raw_content=content)
        if not facts:
            return envelope
        sources = {key: facts[key] for key in SOURCES if isinstance(facts.get(key), (dict, Mapping))}
        if sources:
            cite(blocks, sources)
            envelope["extras"] = {NAME: sources}
        for key, value in _response_facts(facts):
            envelope[key] = value  # type: ignore[literal-required]  # keys of _response_facts
        if facts.get("modelVersion"):
            envelope["origin"] = {**envelope["origin"], "model": str(facts["modelVersion"])}
        if facts.get("responseId"):
            envelope["origin"] = {**envelope["origin"], "response_id": str(facts["responseId"])}
        return envelope

    def _tell_beside(self, system: Any) -> None:
        """Tell what a system instruction says beside its parts, which no message has a place for."""
        if isinstance(system, (dict, Mapping)) and "parts" in system and (rest := system.keys() - _CONTENT_KEYS):
            action, detail = "left out what stands beside the parts", ", ".join(sorted(map(str, rest)))
            self.report.add("G4", "dropped", action=action, path="system_instruction", detail=detail)

    def _user(self, content: Mapping[str, Any], parts: Sequence[Part], path: str) -> Iterator[MessageEnvelope]:
        """Yield one tool message per function response and one user message per run of other parts, in order."""
        other: list[Block] = []
        made = 0
        whole = {"raw_content": content}
        for index, part in enumerate(parts):
            answer = None if part.keys() == _TEXT_ALONE else camel_keys(part).get("functionResponse")
            if not isinstance(answer, (dict, Mapping)):
                other.append(block_of(part))
                continue
            if other:
                yield _joined(self._envelope("user", other, **whole), made)
                other, made = [], made + 1
            alone = {**content, "parts": [part]}
            yield _joined(self._answer(answer, alone, f"{path}.parts[{index}]"), made)
            made += 1
        if other:
            yield _joined(self._envelope("user", other, **whole), made)

    def _answer(self, answer: Mapping[str, Any], alone: Mapping[str, Any], path: str) -> MessageEnvelope:
        response = answer.get("response")
        blocks, status = answer_blocks(response if isinstance(response, (dict, Mapping)) else {}, answer.get("parts"))
        call = self._match(answer)
        if call is None:
            self.report.add("G8", "unresolved", action="kept a response that matches no call", path=path)
        envelope = self._envelope("tool", blocks, status=status, raw_content=alone)
        found = call["id"] if call is not None else answer.get("id")
        if found:
            envelope["tool_call_id"] = str(found)
        if answer.get("name"):
            envelope["name"] = str(answer["name"])
        rest = {key: value for key, value in answer.items() if key not in ("id", "name", "response", "parts")}
        if isinstance(response, (dict, Mapping)) and not _is_plain(response):
            rest["response"] = response
        if len(alone["parts"][0]) > 1:
            (part,) = alone["parts"]
            rest["beside"] = {key: value for key, value in part.items() if camel(key) != "functionResponse"}
        if rest:
            envelope.setdefault("extras", {}).setdefault(NAME, {}).update(rest)
        return envelope

    def _match(self, answer: Mapping[str, Any]) -> Block | None:
        """Find the open call by id, else the first open one of that name (G8); it is open no longer."""
        matches = [call for call in self.open if answer.get("id") and call.get("id") == answer.get("id")]
        matches += [call for call in self.open if call.get("name") == answer.get("name")]
        if matches:
            self.open = [call for call in self.open if call is not matches[0]]
            return matches[0]
        return None


def _is_plain(response: Mapping[str, Any]) -> bool:
    return len(response) == 1 and isinstance(response.get("output", response.get("error")), str)


def _joined(envelope: MessageEnvelope, made: int) -> MessageEnvelope:
    if made:
        envelope["extras"] = {**envelope.get("extras", {}), "joined": True}
    return envelope


def _response_facts(facts: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    usage = facts.get("usageMetadata")
    if isinstance(usage, (dict, Mapping)):
        counts = camel_keys(usage)
        put = _count(counts.get("promptTokenCount"))
        out = _count(counts.get("candidatesTokenCount")) + _count(counts.get("thoughtsTokenCount"))
        yield (
            "usage",
            {
                "input_tokens": put,
                "output_tokens": out,
                "total_tokens": _count(counts.get("totalTokenCount")) or put + out,
            },
        )
    if facts.get("finishReason"):
        yield "stop_reason", str(facts["finishReason"])


def _count(value: Any) -> int:
    return value if type(value) is int else 0
