"""Media parts for a target: which may stand where, in which form, and what stands in for the others.

No network and no files, ever: bytes of a media reference come from `ExportOptions.load_media`, URLs and provider file
ids stay only where the target takes them.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Final, cast

from ..envelope.media_types import OCTET_STREAM
from ..envelope.model import Block
from ..errors import UnsupportedPartError
from .base import ExportOptions, MediaRule, MediaSource, Target, without_raw
from .beside import MEDIA_PARTS, UNSAID, unsaid
from .media_facts import settled, text_of_file, uploader_of, without_parameters
from .models import URL_INPUTS, fetches_no_url, lacking_input
from .report import LossKind, Placed, Report

_SOURCES: Final[tuple[tuple[str, MediaSource], ...]] = (
    ("base64", "base64"),
    ("data", "base64"),
    ("url", "url"),
    ("file_id", "file_id"),
)
_STUB: Final = frozenset({"media", *(key for key, _ in _SOURCES)})


def base64_of(block: Block) -> str | None:
    """Return a media block's bytes as base64, or None if it holds none."""
    if "base64" in block:
        return block["base64"]
    data = block.get("data")
    return base64.b64encode(data).decode("ascii") if data is not None else None


def bytes_of(block: Block) -> bytes | None:
    """Return a media block's bytes, or None if it holds none or its base64 cannot be decoded."""
    if "data" in block:
        return block["data"]
    try:
        return base64.b64decode(block["base64"], validate=True) if "base64" in block else None
    except ValueError:
        return None


def data_url_of(block: Block) -> str | None:
    """Return a media block's bytes as a data URL, or None if it holds none."""
    encoded = base64_of(block)
    return None if encoded is None else f"data:{block.get('mime_type') or OCTET_STREAM};base64,{encoded}"


@dataclass(frozen=True)
class MediaFitter:
    """Fits media blocks to a target, message by message."""

    target: Target
    options: ExportOptions
    report: Report

    def fit(self, block: Block, placed: Placed, path: str) -> list[Block]:
        """Return what stands for a media block: itself, with its bytes, a text, or nothing.

        Raises:
            UnsupportedPartError: The target cannot take it and `on_unsupported_part` is "raise".
        """
        if self.target.media is None and "media" not in block:
            return [block]
        role = placed.envelope["role"]
        found, reason = self._resolved(block)
        if found is None:
            return self._instead(_with_type(block), placed, path, reason=reason, kind="unresolved")
        if self.target.media is None:
            return [found]
        rule = self.target.media.get((role, block["type"]))
        if rule is None and found.get("text"):
            return self._as_text(found["text"], found, placed, path)
        if rule is not None and not rule.takes_mime(found.get("mime_type")):
            found = without_parameters(found)
        if rule is None or not rule.takes_mime(found.get("mime_type")):
            plain = text_of_file(found)
            if plain is not None:
                return self._as_plain(plain, placed, path)
        reason = self._refusal(rule, found, placed)
        if reason:
            return self._instead(found, placed, path, reason=reason, kind="placeholder")
        return [found]

    def unread(self, block: Block, placed: Placed, path: str) -> list[Block]:
        """Return what stands for a part of unknown type whose bytes are a media reference."""
        mime_type = (block.get("media") or {}).get("mime_type")
        part: Block = {"type": "part", "mime_type": mime_type} if mime_type else {"type": "part"}
        return self._instead(part, placed, path, reason="its bytes are not at hand", kind="unresolved")

    def moves(self, block: Block) -> bool:
        """True if a tool message's media block has to go to a user message behind the results."""
        table = self.target.media
        if table is None or self.target.tool_media == "keep" or block["type"] not in MEDIA_PARTS:
            return False
        return ("tool", block["type"]) not in table and ("user", block["type"]) in table

    def _resolved(self, block: Block) -> tuple[Block | None, str]:
        """Return the block with bytes in place of a media reference, or None and why not.

        A stored block keeps an empty text where its bytes stood, beside the reference.
        """
        ref = block.get("media")
        if ref is None or any(block.get(key) for key, _ in _SOURCES):
            return self._readable(*settled(block))
        if not self.options.resolve_media:
            return None, "resolve_media=False reads no blob"
        if self.options.load_media is None:
            return None, "its bytes are not at hand"
        kept = {key: value for key, value in without_raw(block).items() if key not in _STUB}
        return self._readable(*settled(cast(Block, {**kept, "data": self.options.load_media(ref)})))

    def _readable(self, block: Block, readable: bool) -> tuple[Block | None, str]:
        """Return a block unless all that it holds are bytes that cannot be read."""
        others = block.get("url") or block.get("file_id") or block.get("text") is not None
        if self.target.media is None or others or readable or not ("data" in block or "base64" in block):
            return block, ""
        return None, "its bytes cannot be decoded" if block.get("base64") else "it holds no bytes"

    def _refusal(self, rule: MediaRule | None, block: Block, placed: Placed) -> str:
        """Return why a target cannot take a block, "" if it can."""
        role = placed.envelope["role"]
        if rule is None:
            lacking = lacking_input(self.options.model, role, block["type"])
            return _denied(lacking) if lacking else f"{self.target.dialect} takes no {block['type']} in {role} messages"
        if "text" in block:
            return ""
        sources = [source for key, source in _SOURCES if block.get(key) is not None and source in rule.sources]
        if not sources and block.get("url") and fetches_no_url(self.options.model, block["type"]):
            return _denied(URL_INPUTS)
        if not sources:
            return f"{self.target.dialect} takes {block['type']} only as {', '.join(sorted(rule.sources))}"
        if sources == ["file_id"] and uploader_of(block, placed.envelope) not in self.target.providers:
            return "the file id belongs to another provider"
        if sources == ["url"] and block["url"].partition(":")[0].lower() not in rule.schemes:
            return f"{self.target.dialect} does not fetch such URLs"
        untold = not block.get("mime_type") and "base64" not in sources
        if not rule.takes_mime(block.get("mime_type")) and not untold:
            return f"{self.target.dialect} does not take {block.get('mime_type') or 'an unknown mime type'}"
        return ""

    def _as_plain(self, plain: Block, placed: Placed, path: str) -> list[Block]:
        """Return a file of text as a plain-text document where the target takes one, else as its text."""
        table = self.target.media or {}
        if (placed.envelope["role"], "text-plain") not in table:
            return self._as_text(plain["text"], plain, placed, path)
        if plain.get("mime_type") != "text/plain":
            action = "a file of text became a plain-text document"
            detail = plain.get("mime_type", "")
            self.report.add(self.target.rule("media"), "downgraded", at=placed, path=path, action=action, detail=detail)
        return [{**plain, "mime_type": "text/plain"}]

    def _as_text(self, text: str, block: Block, placed: Placed, path: str) -> list[Block]:
        spoken = block["type"] == "audio"
        self.report.add(
            self.target.rule("media"),
            "downgraded",
            at=placed,
            path=path,
            action="the transcript stands for the audio" if spoken else "the plain-text document became text",
            detail=block.get("mime_type", ""),
        )
        if not spoken and (left := unsaid(block)):
            self.report.add(self.target.rule("media"), "dropped", at=placed, path=path, action=UNSAID, detail=left)
        return [{"type": "text", "text": text}]

    def _instead(self, block: Block, placed: Placed, path: str, *, reason: str, kind: LossKind) -> list[Block]:
        transcript = (block.get("extras") or {}).get("transcript")
        if block["type"] == "audio" and isinstance(transcript, str) and transcript.strip():
            return self._as_text(transcript, block, placed, path)
        what = block.get("mime_type") or block["type"]
        policy = self.options.on_unsupported_part
        if policy == "raise":
            raise unsupported(placed, path, what, reason)
        dropped = policy == "drop"
        self.report.add(
            self.target.rule("media"),
            "dropped" if dropped and kind == "placeholder" else kind,
            at=placed,
            path=path,
            action="the part was left out" if dropped else "a text stands in for the part",
            detail=f"{what}: {reason}",
        )
        return [] if dropped else [placeholder(block)]


def unsupported(placed: Placed, path: str, what: str, reason: str) -> UnsupportedPartError:
    """Return the error of a part that the target cannot take, under `on_unsupported_part="raise"`."""
    return UnsupportedPartError(
        f"message {placed.index}, {path}: {what} cannot be exported: {reason}. "
        'Choose another model, or on_unsupported_part="placeholder".'
    )


def _denied(field: str) -> str:
    return f"the model's profile says {field}: False"


def _with_type(block: Block) -> Block:
    """Return a block with the mime type that its media reference tells."""
    told = (block.get("media") or {}).get("mime_type")
    return {**block, "mime_type": told} if told and not block.get("mime_type") else block


def placeholder(block: Block) -> Block:
    """Make the text that stands in for a part that is not sent."""
    named = f" {block['filename']}" if block.get("filename") else ""
    return {"type": "text", "text": f"[{block.get('mime_type') or block['type']}{named}: not available here]"}
