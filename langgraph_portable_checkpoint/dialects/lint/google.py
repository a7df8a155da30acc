"""Rules of Gemini `contents` (G1 to G14), checked on any history in either spelling.

Source: provider-rules of this project's documentation, which cite ai.google.dev and server errors.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from ...envelope.media_types import OCTET_STREAM
from ..base import Finding, Rule
from ..google_parts import DATA_FIELDS, camel_keys, is_signature, knows_its_type
from .shapes import unknown_keys

_GUIDE: Final = "ai.google.dev/gemini-api/docs"

RULES: Final = (
    Rule(
        id="G1",
        text="contents is a non-empty list, or as the SDK takes it a text",
        source="google-genai chats validators, ContentListUnion",
    ),
    Rule(
        id="G2",
        text="role is user or model (function in old histories)",
        source="google-genai _extract_curated_history",
    ),
    Rule(id="G3", text="parts is a non-empty list", source="google-genai chats validators"),
    Rule(
        id="G4",
        text="a part has exactly one data field, and beside it what a Part knows; what no field says has no place",
        source="google-genai Part docstring, protobuf oneof",
    ),
    Rule(
        id="G5",
        text="functionCall stands in model, functionResponse in user contents",
        source=f"{_GUIDE}/function-calling",
    ),
    Rule(
        id="G6",
        text="a content with function calls comes directly after a user content or after function responses",
        source="server error 'function call turn comes immediately after a user turn'",
    ),
    Rule(
        id="G7",
        text="all responses of one step stand in one content directly after it, as many as there are calls",
        source="server error 'number of function response parts is equal', gemini-cli #3814",
    ),
    Rule(
        id="G8",
        text="a response has a name and an object as response; it matches a call",
        source="FunctionResponse docstring",
    ),
    Rule(
        id="G9",
        text="media of a response stands in functionResponse.parts as inlineData or fileData",
        source="FunctionResponsePart",
    ),
    Rule(
        id="G10",
        text="Gemini 3: the first function call of each step of the current turn has a thoughtSignature",
        source=f"{_GUIDE}/thought-signatures",
    ),
    Rule(
        id="G11",
        text="a signature may stand on an empty text; it is kept, and texts are not merged",
        source=f"{_GUIDE}/thought-signatures",
    ),
    Rule(
        id="G12",
        text="Vertex: functionCall and functionResponse carry no id",
        source="litellm #28324, langchainjs #10292",
    ),
    Rule(
        id="G13",
        text="executableCode, codeExecutionResult, toolCall and toolResponse stand in model contents",
        source="google-genai Part",
    ),
    Rule(
        id="G14",
        text="inlineData and fileData have a mimeType, inlineData is base64; system text stands apart",
        source="REST reference",
    ),
)

_SIDE_FIELDS: Final = frozenset(
    {
        "thought", "thoughtSignature", "videoMetadata", "mediaResolution", "mediaProcessing", "partMetadata",
        "audioMetadata", "audioTranscription", "documentMetadata", "speechMetadata", "spreadsheetMetadata",
    }
)  # fmt: skip
"""What may stand beside a part's data. Source: google-genai 3.6, Part, which forbids any other key."""
_SERVER_FIELDS: Final = ("executableCode", "codeExecutionResult", "toolCall", "toolResponse")
PART_FIELDS: Final = _SIDE_FIELDS.union(DATA_FIELDS)
_Parts = list[dict[str, Any]]


def lint_contents(payload: Any, *, vertex: bool = False, generation: float = 0.0) -> list[Finding]:
    """Return every breach of G1 to G14 in a request, or in a list of contents. Never raises."""
    contents = _contents(payload)
    if isinstance(contents, str) and contents and contents is not payload:
        return []
    if not isinstance(contents, list) or not contents:
        return [Finding(rule="G1", path="contents", message="is no non-empty list")]
    found: list[Finding] = []
    for index, content in enumerate(contents):
        found += _content(content, f"contents[{index}]", vertex=vertex)
    found += _steps([_fields(content) for content in contents])
    if generation >= 3:
        found += _signatures([_fields(content) for content in contents])
    return found


def _contents(payload: Any) -> Any:
    if isinstance(payload, Mapping):
        return payload.get("contents")
    return payload


def _fields(content: Any) -> tuple[str, _Parts]:
    """The role and the parts that can be looked at, in camelCase."""
    if not isinstance(content, Mapping):
        return "", []
    parts = content.get("parts")
    found = [camel_keys(part) for part in parts if _has_text_keys(part)] if isinstance(parts, list) else []
    return str(content.get("role") or "user"), found


def _has_text_keys(part: Any) -> bool:
    return isinstance(part, Mapping) and all(isinstance(key, str) for key in part)


def _content(content: Any, path: str, *, vertex: bool) -> Iterator[Finding]:
    if not isinstance(content, Mapping):
        yield Finding(rule="G1", path=path, message="is no content")
        return
    role = content.get("role", "user")
    if role not in ("user", "model", "function"):
        yield Finding(
            rule="G14" if role == "system" else "G2", path=f"{path}.role", message=f"{role!r:.40} is not user or model"
        )
    parts = content.get("parts")
    if not isinstance(parts, list) or not parts:
        yield Finding(rule="G3", path=f"{path}.parts", message="is no non-empty list")
        return
    for index, part in enumerate(parts):
        yield from check_part(part, str(role), f"{path}.parts[{index}]", vertex=vertex)


def check_part(part: Any, role: str, path: str, *, vertex: bool) -> Iterator[Finding]:
    """Check one part of a content."""
    if not _has_text_keys(part):
        yield Finding(rule="G4", path=path, message="is no part")
        return
    fields = camel_keys(part)
    data = [name for name in DATA_FIELDS if fields.get(name) is not None]
    if len(data) != 1:
        yield Finding(rule="G4", path=path, message=f"has {len(data)} data fields ({', '.join(data) or 'none'})")
        return
    (name,) = data
    for key in unknown_keys(fields, PART_FIELDS):
        yield Finding(rule="G4", path=f"{path}.{key}", message="a part has no such key")
    if (name == "functionCall" and role != "model") or (name == "functionResponse" and role == "model"):
        yield Finding(rule="G5", path=path, message=f"{name} in a {role} content")
    if name in _SERVER_FIELDS and role != "model":
        yield Finding(rule="G13", path=path, message=f"{name} in a {role} content")
    check = _CHECKS.get(name)
    if check:
        yield from check(fields[name], f"{path}.{name}")
    signature = fields.get("thoughtSignature")
    if signature is not None and not is_signature(signature):
        yield Finding(rule="G10", path=f"{path}.thoughtSignature", message="is no base64")
    untyped = name == "fileData" and isinstance(fields[name], Mapping) and not camel_keys(fields[name]).get("mimeType")
    if vertex and untyped:
        yield Finding(rule="G14", path=f"{path}.fileData.mimeType", message="is missing, and Vertex wants it")
    if (
        vertex
        and name in ("functionCall", "functionResponse")
        and isinstance(fields[name], Mapping)
        and fields[name].get("id")
    ):
        yield Finding(rule="G12", path=f"{path}.{name}.id", message="Vertex may not know id")


def _check_text(value: Any, path: str) -> Iterator[Finding]:
    if not isinstance(value, str):
        yield Finding(rule="G4", path=path, message="is no text")


def _check_blob(value: Any, path: str, *, rule: str = "G14") -> Iterator[Finding]:
    fields = camel_keys(value) if _has_text_keys(value) else {}
    if not fields.get("mimeType"):
        yield Finding(rule=rule, path=f"{path}.mimeType", message="is missing")
    elif fields["mimeType"] == OCTET_STREAM:
        yield Finding(rule=rule, path=f"{path}.mimeType", message=f"{OCTET_STREAM} is taken of nothing")
    data = fields.get("data")
    if not isinstance(data, bytes) and not _is_base64(data):
        yield Finding(rule=rule, path=f"{path}.data", message="is not base64")


def _is_base64(data: Any) -> bool:
    if not isinstance(data, str) or not data:
        return False
    text = data.replace("-", "+").replace("_", "/")
    try:
        base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _check_file(value: Any, path: str) -> Iterator[Finding]:
    fields = camel_keys(value) if _has_text_keys(value) else {}
    uri, mime_type = fields.get("fileUri"), fields.get("mimeType")
    if not isinstance(uri, str) or not uri:
        yield Finding(rule="G14", path=f"{path}.fileUri", message="is missing")
    if not (isinstance(mime_type, str) and mime_type) and not (isinstance(uri, str) and knows_its_type(uri)):
        yield Finding(rule="G14", path=f"{path}.mimeType", message="is missing")
    elif mime_type == OCTET_STREAM:
        yield Finding(rule="G14", path=f"{path}.mimeType", message=f"{OCTET_STREAM} is taken of nothing")


def _check_call(value: Any, path: str) -> Iterator[Finding]:
    fields = value if isinstance(value, Mapping) else {}
    if not isinstance(fields.get("name"), str) or not fields["name"]:
        yield Finding(rule="G8", path=f"{path}.name", message="is missing")
    if not isinstance(fields.get("args", {}), (Mapping, type(None))):
        yield Finding(rule="G8", path=f"{path}.args", message="is not an object")


def _check_response(value: Any, path: str) -> Iterator[Finding]:
    fields = value if isinstance(value, Mapping) else {}
    if not isinstance(fields.get("name"), str) or not fields["name"]:
        yield Finding(rule="G8", path=f"{path}.name", message="is missing")
    if not isinstance(fields.get("response"), Mapping):
        yield Finding(rule="G8", path=f"{path}.response", message="is not an object")
    parts = fields.get("parts")
    for index, part in enumerate(parts if isinstance(parts, list) else ()):
        inner = camel_keys(part) if _has_text_keys(part) else {}
        if inner.get("inlineData") is not None:
            yield from _check_blob(inner["inlineData"], f"{path}.parts[{index}].inlineData", rule="G9")
        elif inner.get("fileData") is None:
            yield Finding(rule="G9", path=f"{path}.parts[{index}]", message="is neither inlineData nor fileData")


_CHECKS: Final[Mapping[str, Callable[[Any, str], Iterator[Finding]]]] = {
    "text": _check_text,
    "inlineData": _check_blob,
    "fileData": _check_file,
    "functionCall": _check_call,
    "functionResponse": _check_response,
}


def _named(parts: Sequence[Mapping[str, Any]], field: str) -> list[Mapping[str, Any]]:
    return [part[field] for part in parts if isinstance(part.get(field), Mapping)]


def _steps(contents: Sequence[tuple[str, _Parts]]) -> Iterator[Finding]:
    """G6 to G8 over the sequence: where calls may stand, and what must follow them."""
    calls: list[Mapping[str, Any]] = []
    for index, (role, parts) in enumerate(contents):
        path = f"contents[{index}]"
        answers = _named(parts, "functionResponse")
        if len(answers) != len(calls):
            yield Finding(rule="G7", path=path, message=f"{len(answers)} responses to {len(calls)} calls")
        else:
            yield from _matches(calls, answers, path)
        calls = _named(parts, "functionCall") if role == "model" else []
        if calls and (index == 0 or contents[index - 1][0] == "model"):
            yield Finding(rule="G6", path=path, message="calls do not come after a user content or responses")
    if calls:
        yield Finding(rule="G7", path=f"contents[{len(contents) - 1}]", message=f"0 responses to {len(calls)} calls")


def _matches(calls: Sequence[Mapping[str, Any]], answers: Sequence[Mapping[str, Any]], path: str) -> Iterator[Finding]:
    if sorted(str(call.get("name")) for call in calls) != sorted(str(answer.get("name")) for answer in answers):
        yield Finding(rule="G8", path=path, message="names of responses are not those of the calls")
    ids = {str(call["id"]) for call in calls if call.get("id")}
    for answer in answers:
        if ids and answer.get("id") and str(answer["id"]) not in ids:
            yield Finding(rule="G8", path=path, message="a response names the id of no call")


def _signatures(contents: Sequence[tuple[str, _Parts]]) -> Iterator[Finding]:
    """G10: in the current turn, behind the last content that a person wrote."""
    start = max(
        (at for at, (role, parts) in enumerate(contents) if role != "model" and not _named(parts, "functionResponse")),
        default=-1,
    )
    for index in range(start + 1, len(contents)):
        role, parts = contents[index]
        first = next((part for part in parts if part.get("functionCall") is not None), None)
        if role == "model" and first is not None and not first.get("thoughtSignature"):
            yield Finding(rule="G10", path=f"contents[{index}]", message="the first call has no thoughtSignature")
