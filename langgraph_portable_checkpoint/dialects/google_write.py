"""Message envelopes to Gemini contents: one content for all responses of a step, and thought signatures.

Expects a normalised conversation. A part that nothing changed goes back as it came, to the platform and model family
that made it.

Source: ai.google.dev/gemini-api/docs (function-calling, thought-signatures); rules G4, G6 to G8, G10 to G12, G14.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, cast

from ..envelope.media_types import OCTET_STREAM
from ..envelope.model import Block, MessageEnvelope
from ..errors import IncompatibleHistoryError
from .base import ExportOptions, Target, blocks_of
from .beside import MEDIA_PARTS, UNSAID, unsaid
from .google_parts import (
    Part,
    answer_text,
    camel,
    camel_keys,
    default_mime,
    is_made_id,
    is_part,
    is_signature,
    knows_its_type,
    native_part,
)
from .google_read import API, NAME
from .google_sources import SOURCES
from .lint.google import PART_FIELDS, check_part
from .media_parts import placeholder, unsupported
from .models import model_family
from .native_keys import UNKNOWN_KEYS, left_out
from .native_parts import kind_of
from .plain_values import plain_or_told
from .reasoning import origin_of
from .report import Placed, Report
from .speakers import OPENING

DUMMY_SIGNATURE: Final = base64.b64encode(b"skip_thought_signature_validator").decode()
"""Google's documented stand-in for calls that no Gemini model signed (G10)."""


def generation(model: str | None) -> float:
    """Name the Gemini generation of a model: 2.5 of "gemini-2.5-pro"; 0 where it is unknown.

    >>> generation("models/gemini-3-pro-preview")
    3.0
    """
    found = re.search(r"gemini-(\d+(?:\.\d+)?)", model or "")
    return float(found[1]) if found else 0.0


_SAID: Final = (
    "signature",
    *("videoMetadata", "mediaResolution", "thought", "partMetadata", "audioMetadata", "documentMetadata"),
)
"""What parts say beside their content; a signature that may not go along is told by itself (G10)."""


class Writer:
    """Spells a normalised conversation; `calls` knows the names of the calls seen so far."""

    def __init__(self, target: Target, options: ExportOptions, report: Report) -> None:
        self.target, self.options, self.report = target, options, report
        self.vertex = options.profile == "vertex"
        self.names: dict[str, str] = {}
        self.as_text: set[str] = set()
        """Ids of calls that were written as text, whose results must be too."""
        self.contents: list[dict[str, Any]] = []

    def payload(self, conversation: Sequence[Placed]) -> dict[str, Any]:
        system: list[Part] = []
        contents = self.contents
        previous: Placed | None = None
        for placed in conversation:
            if placed.envelope["role"] == "system":
                system += self._parts(placed)
                continue
            parts = self._answer(placed) if placed.envelope["role"] == "tool" else self._parts(placed)
            if not parts:
                continue
            if previous is not None and self._belongs(placed, previous):
                contents[-1]["parts"] += parts
                _join_run(contents, whole=self._calls(placed))
            else:
                contents.append(self._content(placed, parts))
            previous = placed
        found: dict[str, Any] = {"system_instruction": {"parts": system}} if system else {}
        return {**found, "contents": self._opened(contents, conversation)}

    def _opened(self, contents: list[dict[str, Any]], conversation: Sequence[Placed]) -> list[dict[str, Any]]:
        """Begin with a user content also where the first message held blank texts only (G6)."""
        said = [placed for placed in conversation if placed.envelope["role"] != "system"]
        if said and not contents:
            raise IncompatibleHistoryError(
                "nothing is left of it",
                turn=said[-1].turn,
                fix="It holds only blank texts and parts that this target leaves out.",
            )
        if said and contents[0].get("role") == "model" and said[0].envelope["role"] == "user":
            self.report.add("G6", "synthesized", action="an opening user message was made", at=said[0])
            return [{"role": "user", "parts": [{"text": OPENING}]}, *contents]
        return contents

    def _content(self, placed: Placed, parts: list[Part]) -> dict[str, Any]:
        """Make a content; one that came from Gemini keeps its keys and their order."""
        raw = placed.envelope.get("raw_content")
        role = "model" if placed.envelope["role"] == "assistant" else "user"
        if isinstance(raw, Mapping) and "parts" in raw and (placed.envelope.get("origin") or {}).get("api") == API:
            if raw.get("role", "user") in (role, "function"):
                return {key: parts if key == "parts" else value for key, value in raw.items()}
            self.report.add("G2", "re-keyed", action="a content got the role of its message", at=placed)
        return {"role": role, "parts": parts}

    def _belongs(self, placed: Placed, previous: Placed) -> bool:
        """Tell whether a message goes into the content before it: results of one step (G7), or what came joined."""
        role, before = placed.envelope["role"], previous.envelope["role"]
        joined = bool((placed.envelope.get("extras") or {}).get("joined"))
        if role == "tool" and before == "tool":
            if not joined and (placed.envelope.get("origin") or {}).get("api") == API:
                self.report.add("G7", "merged", action="joined the responses of one step", at=placed)
            return True
        if role == "assistant" and before == "assistant":
            if self._is_native(placed) and self._is_native(previous) and not self._calls(placed):
                return False
            self.report.add("G6", "merged", action="joined consecutive model messages", at=placed)
            return True
        return joined and {role, before} <= {"user", "tool"}

    def _is_native(self, placed: Placed) -> bool:
        return isinstance(placed.envelope.get("raw_content"), Mapping) and self._may_sign(
            placed.envelope.get("origin") or {}
        )

    def _calls(self, placed: Placed) -> bool:
        return any(blocks_of(placed.envelope, "tool_call"))

    def _parts(self, placed: Placed) -> list[Part]:
        self._tell_sources(placed)
        parts: list[Part] = []
        signed = textual = False
        for index, block in enumerate(placed.envelope["content"]):
            path = placed.part(index)[1]
            part = self._raw(block, placed, path) or self._written(block, placed, path)
            if part is None or self._is_blank(part, placed, path):
                continue
            if block["type"] == "tool_call":
                self.names[block.get("id") or ""] = str(block.get("name"))
                part = part if signed else self._signed(part, placed, path)
                textual = textual or (not signed and part.get("text") is not None)
                part, signed = self._call_text(block, placed, path) if textual else part, True
            parts.append(part)
        return parts

    def _tell_sources(self, placed: Placed) -> None:
        """Tell what a response said of its sources, which no content has a place for."""
        kept = (placed.envelope.get("extras") or {}).get(NAME)
        if isinstance(kept, Mapping):
            for key in kept.keys() & SOURCES:
                action = "left out what a response says of its sources"
                self.report.add("G4", "dropped", action=action, at=placed, path=key)

    def _is_blank(self, part: Part, placed: Placed, path: str) -> bool:
        """Tell whether a part is a blank text that did not come from Gemini, which alone may send some (G1, G11)."""
        blank = isinstance(part.get("text"), str) and not part["text"].strip() and len(part) == 1
        if not blank or origin_of({"type": "text"}, placed.envelope).get("api") == API:
            return False
        if part["text"]:
            self.report.add("G1", "dropped", action="left out a blank text", at=placed, path=path)
        return True

    def _raw(self, block: Block, placed: Placed, path: str) -> Part | None:
        """The part as it came, where nothing changed it; without call id for Vertex unless Vertex gave it (G12)."""
        raw, origin = block.get("raw"), origin_of(block, placed.envelope)
        if raw is None or origin.get("api") != API or not is_part(raw) or not self._may_sign(origin):
            return None
        untyped = block["type"] in MEDIA_PARTS and not block.get("mime_type")
        if self.vertex and untyped and "fileData" in camel_keys(raw):
            return None
        signed = camel_keys(raw).get("thoughtSignature")
        if signed is not None and not is_signature(signed):
            return None
        raw = self._known(cast(Part, raw), placed, path)
        if block["type"] in _READ_WHOLE or _is_sound(raw, placed):
            return raw
        if block["type"] != "non_standard":
            action = "a part that holds what Gemini refuses was spelled anew"
            self.report.add("G14", "downgraded", action=action, at=placed, path=path)
        return None

    def _known(self, part: Part, placed: Placed, path: str) -> Part:
        """Return a native part without the keys that a Part has not."""
        if len(part) == 1 or camel_keys(part).keys() <= PART_FIELDS:
            return part
        found = {key: value for key, value in part.items() if camel(key) in PART_FIELDS}
        left = left_out(part, found.keys())
        self.report.add("G14", "dropped", action=UNKNOWN_KEYS, at=placed, path=path, detail=left)
        return found

    def _may_sign(self, origin: Mapping[str, Any]) -> bool:
        """Tell whether this target reads opaque values of that origin: same platform and same model family (G10)."""
        if origin.get("provider") not in self.target.providers:
            return False
        ours, theirs = self.options.model_name, origin.get("model")
        return not ours or not theirs or model_family(ours) == model_family(theirs)

    def _written(self, block: Block, placed: Placed, path: str) -> Part | None:
        plain = self._plain(block)
        if plain is not None:
            return plain
        part = block.get("value") if block["type"] == "non_standard" else native_part(block)
        unknown = part is None or not is_part(part) or (block["type"] == "non_standard" and not _is_sound(part, placed))
        what = kind_of(block.get("value")) if block["type"] == "non_standard" else block["type"]
        policy = self.options.on_unsupported_part if unknown and block["type"] in _UNSUPPORTED else None
        if policy == "raise":
            raise unsupported(placed, path, what, "Gemini refuses it")
        if policy == "placeholder" and (block["type"] in MEDIA_PARTS or placed.envelope["role"] != "assistant"):
            rule = "G14" if block["type"] in MEDIA_PARTS else "G4"
            self.report.add(rule, "unresolved", action="a text stands in for a part", at=placed, path=path, detail=what)
            return {"text": placeholder(block)["text"]}
        if unknown:
            self.report.add("G4", "dropped", action=f"left out a {block['type']} block", at=placed, path=path)
            return None
        part = dict(cast(Part, part))
        if "functionCall" in part:
            tell = partial(self.report.add, "G8", "downgraded", action="made arguments plain", at=placed, path=path)
            part["functionCall"] = plain_or_told(part["functionCall"], tell)
        if self.vertex and "fileData" in part and "mimeType" not in part["fileData"]:
            part["fileData"] = {**part["fileData"], "mimeType": default_mime(block)}
        self._report_unsaid(block, placed, path)
        extras = block.get("extras") or {}
        part |= {key: extras[key] for key in _SAID[1:] if key in extras and key not in part}
        if self.vertex and "functionCall" in part and "id" in part["functionCall"]:
            part["functionCall"] = {key: value for key, value in part["functionCall"].items() if key != "id"}
            self.report.add("G12", "dropped", action="left out the call id", at=placed, path=path)
        signature = extras.get("signature")
        if signature:
            may = self._may_sign(origin_of(block, placed.envelope))
            if may and is_signature(signature):
                part["thoughtSignature"] = signature
            else:
                what = "a signature that is no base64: two parts were merged" if may else "a foreign signature"
                self.report.add("G10", "dropped", action=f"left out {what}", at=placed, path=path)
        return part

    def _plain(self, block: Block) -> Part | None:
        """Spell a text that is nothing else; None for any other block."""
        if block["type"] != "text" or len(block) != 2 or not isinstance(block.get("text"), str):
            return None
        return {"text": block["text"]}

    def _report_unsaid(self, block: Block, placed: Placed, path: str) -> None:
        if block.get("annotations"):
            self.report.add("G4", "dropped", action="left out citations", at=placed, path=path)
        if left := unsaid(block, *_SAID):
            self.report.add("G14", "dropped", action=UNSAID, at=placed, path=path, detail=left)
        untold = block.get("mime_type") in (None, "", OCTET_STREAM)
        if block["type"] in MEDIA_PARTS and untold and not self._is_known_there(block):
            self.report.add("G14", "synthesized", action="guessed a mime type", at=placed, path=path)

    def _is_known_there(self, block: Block) -> bool:
        """Tell whether the service knows a file's type by itself; Vertex has to be told."""
        return not self.vertex and knows_its_type(str(block.get("file_id") or block.get("url") or ""))

    def _signed(self, part: Part, placed: Placed, path: str) -> Part:
        """Give the first call of a step the documented stand-in where the model checks signatures (G10)."""
        if part.get("thoughtSignature") or part.get("thought_signature") or not self._needs_signature(placed):
            return part
        if self.options.missing_signature == "raise":
            raise IncompatibleHistoryError(
                "a call has no thought signature (G10)", turn=placed.turn, fix='Pass missing_signature="skip".'
            )
        if self.options.missing_signature == "text":
            return {"text": ""}
        self.report.add(
            "G10", "synthesized", action="gave an unsigned call the stand-in signature", at=placed, path=path
        )
        return {**part, "thoughtSignature": DUMMY_SIGNATURE}

    def _call_text(self, block: Block, placed: Placed, path: str) -> Part:
        """Write a call as text; its result will follow as text too."""
        self.as_text.add(str(block.get("id")))
        self.report.add("G10", "downgraded", action="wrote an unsigned call as text", at=placed, path=path)
        return {"text": f"[called {block.get('name')} with {json.dumps(block.get('args'), ensure_ascii=False)}]"}

    def _needs_signature(self, placed: Placed) -> bool:
        """Tell by the model asked for, else by the one that answered; an unknown one may check what is not its own."""
        origin = placed.envelope.get("origin") or {}
        own = origin.get("provider") in self.target.providers
        known = generation(self.options.model_name) or (generation(origin.get("model")) if own else 0.0)
        return known >= 3 if known else not own

    def _answer(self, placed: Placed) -> list[Part]:
        envelope = placed.envelope
        part = self._raw_answer(envelope)
        if part is not None:
            part = self._matched(self._known(part, placed, "content"), placed)
            if _is_answer(part, placed):
                return [part]
            self.report.add("G8", "downgraded", action="a result that Gemini refuses was spelled anew", at=placed)
        kept = (envelope.get("extras") or {}).get(NAME)
        kept = kept if isinstance(kept, Mapping) else {}
        key = "error" if envelope.get("status") == "error" else "output"
        text, media = self._told(placed)
        if str(envelope.get("tool_call_id")) in self.as_text:
            return [{"text": f"[{self._tool_name(envelope)} returned: {text}]"}]
        response = kept.get("response")
        same = isinstance(response, Mapping) and answer_text(response) == text
        found = {"name": self._tool_name(envelope), "response": response if same else {key: text}}
        call_id = envelope.get("tool_call_id")
        if call_id and not self.vertex and not is_made_id(call_id):
            found["id"] = str(call_id)
        found |= {key: kept[key] for key in ("willContinue", "scheduling") if key in kept}
        if media:
            found["parts"] = media
        part = {"functionResponse": found}
        beside = kept.get("beside")
        return [{**beside, **part} if isinstance(beside, Mapping) and _is_sound({**beside, **part}, placed) else part]

    def _matched(self, part: Part, placed: Placed) -> Part:
        """Give a native result the name of its call, told as the name of any result, and no id that no call has."""
        field = next(key for key, value in part.items() if camel(key) == "functionResponse" and value is not None)
        answer, call_id = part[field], placed.envelope.get("tool_call_id") or ""
        if not isinstance(answer, Mapping):
            return part
        name = self.names.get(call_id)
        if name is not None and answer.get("name") != name:
            answer = {**answer, "name": name}
        if answer.get("id") is not None and is_made_id(call_id) and self._knows_ids() and answer["id"] != call_id:
            action, detail = "left out the id of a response whose call has none", str(answer["id"])
            self.report.add("G8", "dropped", action=action, at=placed, detail=detail)
            answer = {key: value for key, value in answer.items() if key != "id"}
        return part if answer is part[field] else {**part, field: answer}

    def _knows_ids(self) -> bool:
        """Tell whether a call of the last model content has an id: all responses to it are matched by ids then."""
        called = next((content for content in reversed(self.contents) if content.get("role") == "model"), {"parts": ()})
        calls = [camel_keys(part).get("functionCall") for part in called["parts"]]
        return any(call.get("id") for call in calls if isinstance(call, Mapping))

    def _told(self, placed: Placed) -> tuple[str, list[Part]]:
        """What a result says, and its media; what stands in for media is said."""
        texts: list[str] = []
        media: list[Part] = []
        for index, block in enumerate(placed.envelope["content"]):
            part = self._plain(block) or self._written(block, *placed.part(index))
            if part is not None and part.get("text") is not None:
                texts.append(part["text"])
            elif part is not None:
                media.append(part)
        return "\n".join(texts), media

    def _raw_answer(self, envelope: MessageEnvelope) -> Part | None:
        if self.as_text and str(envelope.get("tool_call_id")) in self.as_text:
            return None
        raw = envelope.get("raw_content")
        parts = raw.get("parts") if isinstance(raw, Mapping) and self._may_sign(envelope.get("origin") or {}) else None
        if not isinstance(parts, list) or len(parts) != 1 or not is_part(parts[0]):
            return None
        return parts[0] if "functionResponse" in camel_keys(parts[0]) else None

    def _tool_name(self, envelope: MessageEnvelope) -> str:
        return self.names.get(envelope.get("tool_call_id") or "") or envelope.get("name") or "tool"


_UNSUPPORTED: Final = MEDIA_PARTS | {"non_standard"}
"""Blocks that `on_unsupported_part` is about."""
_READ_WHOLE: Final = ("text", "tool_call")
"""Blocks that were read of all that their part holds."""


def _is_sound(part: Any, placed: Placed) -> bool:
    """Tell whether a native part holds what Gemini takes in its content."""
    role = "model" if placed.envelope["role"] == "assistant" else "user"
    return next(check_part(part, role, "", vertex=False), None) is None


def _is_answer(part: Part, placed: Placed) -> bool:
    """Tell whether a native result has the name and the object that Gemini demands."""
    answer = part.get("functionResponse")
    if isinstance(answer, Mapping) and "parts" not in answer and isinstance(answer.get("name"), str):
        return isinstance(answer.get("response"), Mapping) and _names_call(answer, placed.envelope.get("tool_call_id"))
    return _is_sound(part, placed)


def _names_call(answer: Mapping[str, Any], call_id: str | None) -> bool:
    """True where a result names its call, or none; a call without an id has one that was made for it."""
    named = answer.get("id")
    return named is None or named == call_id or (isinstance(named, str) and is_made_id(call_id))


def _join_run(contents: list[dict[str, Any]], *, whole: bool) -> None:
    """Join the run of model contents at the end into one where its last message calls functions (G6)."""
    while whole and len(contents) > 1 and contents[-1].get("role") == contents[-2].get("role") == "model":
        last = contents.pop()
        contents[-1]["parts"] += last["parts"]
