"""What a save or a read left where only certain shapes can stand, told from media: a part whose bytes are not at hand.

Elsewhere a text part takes a medium's place, and is a text. Sound beside the content and screenshots of computers are
read by their place, so that what stands there would be taken for a sound or a picture. Knows the words that
`media.policy` and `media.placing` say, and no policy.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from langgraph_portable_checkpoint.envelope.blank_image import text_of_blank_image

_TEXT: Final = re.compile(
    r"\[(?P<mime_type>[^\[\]\s,]{1,255}), (?:(?P<size>\d{1,19}) B, )?"
    r"(?:removed on save|not available on read|expired at the provider|kept as [^\s\]]+)\]"
)
_MAX_CHARS: Final = 2048
_BRACKET: Final = "W"
"""How base64 of what begins with a bracket begins."""
_SAID: Final[Mapping[str, tuple[tuple[str, Callable[[str], str | None]], ...]]] = {
    "audio": (("base64", str),),
    "image": (
        ("base64", lambda said: text_of_blank_image(f"data:image/png;base64,{said}")),
        ("url", text_of_blank_image),
    ),
    "text": (("text", text_of_blank_image),),
}
"""By type of a block: what may say it, and how to read its text there."""
_KINDS: Final = {"audio": "audio", "image": "image", "text": "image"}


def file_of_text(text: str) -> str:
    """Spell a text as the base64 of a text file, for places that take files and nothing else.

    >>> is_placeholder(file_of_text("[image/png, 136 B, removed on save]"))
    True
    """
    return base64.b64encode(text.encode("utf-8", "replace")).decode()


def is_placeholder(leaf: str | bytes) -> bool:
    """Say whether what stands in the place of a medium's bytes is none, but says what is missing."""
    if not isinstance(leaf, str) or len(leaf) > _MAX_CHARS:
        return False
    return text_of_blank_image(leaf) is not None or _facts(_text_of_file(leaf)) is not None


def _text_of_file(leaf: str) -> str | None:
    if not leaf.startswith(_BRACKET):
        return None
    try:
        return base64.b64decode(leaf, validate=True).decode()
    except ValueError:
        return None


def sound_of(value: Any) -> dict[str, Any] | None:
    """Return the part for what stands in the place of sound beside the content; None where that is no placeholder."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) and len(value) <= _MAX_CHARS else value
    facts = _facts(text) if isinstance(text, str) else None
    return None if facts is None else _part("audio", facts)


def without_placeholder(block: dict[str, Any]) -> dict[str, Any]:
    """Return a media block without bytes that only say what is missing; the very same block for any other."""
    if block["type"] == "audio" and "data" in block:
        return sound_of(block["data"]) or block
    for source, said in _SAID.get(block["type"], ()):
        value = block.get(source)
        facts = _facts(said(value)) if isinstance(value, str) else None
        if facts is not None:
            kept = {key: value for key, value in block.items() if key not in (source, "raw")}
            return kept if kept.get("file_id") else {**kept, **_part(_KINDS[block["type"]], facts)}
    return block


def mended(native: Any) -> Any:
    """Return a tool's result with its text parts in shapes that its place takes; the very same object for any other.

    Version 0.1 stored a text part for a medium wherever one was stripped.
    """
    kind = native.get("type") if type(native) is dict else None
    key = _RESULTS.get(kind) if type(kind) is str else None
    if key is None:
        return native
    held = native.get(key)
    if isinstance(held, dict) and held.get("type") == "web_fetch_result" and _is_text(held.get("content")):
        source = {"type": "text", "media_type": "text/plain", "data": held["content"]["text"]}
        return {**native, key: {**held, "content": {"type": "document", "source": source}}}
    interpreted = key == "outputs" or (key == "output" and str(native.get("tool_call_id")).startswith("ci_"))
    if interpreted and isinstance(held, list) and any(map(_is_text, held)):
        outputs = [{"type": "logs", "logs": each["text"]} if _is_text(each) else each for each in held]
        return {**native, key: outputs}
    return native


_RESULTS: Final[Mapping[str, str]] = {
    "web_fetch_tool_result": "content",
    "server_tool_result": "output",
    "code_interpreter_call": "outputs",
}
"""Where the types of blocks have the results of tools whose API takes certain shapes."""


def _is_text(part: Any) -> bool:
    text = part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None
    return isinstance(text, str) and _facts(text) is not None


def _facts(text: str | None) -> Mapping[str, Any] | None:
    found = _TEXT.fullmatch(text) if text is not None and len(text) <= _MAX_CHARS else None
    if found is None:
        return None
    size = {} if found["size"] is None else {"size_bytes": int(found["size"])}
    return {"mime_type": found["mime_type"], **size}


def _part(kind: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": kind, "mime_type": facts["mime_type"], "media": dict(facts)}
