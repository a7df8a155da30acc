"""Media parts for a target: which may stand where, in which form, and what stands in for the others.

No network and no files, ever: bytes of a media reference come from `ExportOptions.load_media`, URLs and provider file
ids stay only where the target takes them.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Final, cast

from ..envelope.model import Block
from ..errors import UnsupportedPartError
from .base import ExportOptions, MediaRule, MediaSource, Target, without_raw
from .reasoning import origin_of
from .report import LossKind, Placed, Report

MEDIA_PARTS: Final = frozenset({"image", "audio", "video", "file", "text-plain"})
_SOURCES: Final[tuple[tuple[str, MediaSource], ...]] = (
    ("base64", "base64"),
    ("data", "base64"),
    ("url", "url"),
    ("file_id", "file_id"),
)


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
    return None if encoded is None else f"data:{block.get('mime_type') or 'application/octet-stream'};base64,{encoded}"


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
        found, reason = self._resolved(_split_data_url(block))
        if found is None:
            return self._instead(block, placed, path, reason=reason, kind="unresolved")
        if self.target.media is None:
            return [found]
        rule = self.target.media.get((role, block["type"]))
        if rule is None and found.get("text"):
            return self._as_text(found, placed, path)
        reason = self._refusal(rule, found, placed)
        if reason:
            return self._instead(block, placed, path, reason=reason, kind="placeholder")
        return [found]

    def moves(self, block: Block) -> bool:
        """True if a tool message's media block has to go to a user message behind the results."""
        table = self.target.media
        if table is None or self.target.tool_media == "keep" or block["type"] not in MEDIA_PARTS:
            return False
        return ("tool", block["type"]) not in table and ("user", block["type"]) in table

    def _resolved(self, block: Block) -> tuple[Block | None, str]:
        """Return the block with bytes in place of a media reference, or None and why not."""
        ref = block.get("media")
        if ref is None or any(key in block for key, _ in _SOURCES):
            return block, ""
        if not self.options.resolve_media:
            return None, "resolve_media=False reads no blob"
        if self.options.load_media is None:
            return None, "no media store is at hand"
        kept = {key: value for key, value in without_raw(block).items() if key != "media"}
        return cast(Block, {**kept, "data": self.options.load_media(ref)}), ""

    def _refusal(self, rule: MediaRule | None, block: Block, placed: Placed) -> str:
        """Return why a target cannot take a block, "" if it can."""
        role = placed.envelope["role"]
        if rule is None:
            return f"{self.target.dialect} takes no {block['type']} in {role} messages"
        if "text" in block:
            return ""
        sources = [source for key, source in _SOURCES if block.get(key) is not None and source in rule.sources]
        if not sources:
            return f"{self.target.dialect} takes {block['type']} only as {', '.join(sorted(rule.sources))}"
        if sources == ["file_id"] and origin_of(block, placed.envelope).get("provider") not in self.target.providers:
            return "the file id belongs to another provider"
        if sources == ["url"] and block["url"].partition(":")[0].lower() not in rule.schemes:
            return f"{self.target.dialect} does not fetch such URLs"
        if not rule.takes_mime(block.get("mime_type")) and not (sources == ["url"] and not block.get("mime_type")):
            return f"{self.target.dialect} does not take {block.get('mime_type') or 'an unknown mime type'}"
        return ""

    def _as_text(self, block: Block, placed: Placed, path: str) -> list[Block]:
        self.report.add(
            self.target.rule("media"),
            "downgraded",
            at=placed,
            path=path,
            action="the plain-text document became text",
            detail=block.get("mime_type", ""),
        )
        return [{"type": "text", "text": block["text"]}]

    def _instead(self, block: Block, placed: Placed, path: str, *, reason: str, kind: LossKind) -> list[Block]:
        what = block.get("mime_type") or block["type"]
        policy = self.options.on_unsupported_part
        if policy == "raise":
            raise UnsupportedPartError(
                f"message {placed.index}, {path}: {what} cannot be exported: {reason}. "
                'Choose another model, or on_unsupported_part="placeholder".'
            )
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


def placeholder(block: Block) -> Block:
    """Make the text that stands in for a part that is not sent."""
    named = f" {block['filename']}" if block.get("filename") else ""
    return {"type": "text", "text": f"[{block.get('mime_type') or block['type']}{named}: not available here]"}


def _split_data_url(block: Block) -> Block:
    url = block.get("url")
    if not isinstance(url, str) or not url.startswith("data:") or ";base64," not in url[:200]:
        return block
    head, _, encoded = url[5:].partition(";base64,")
    kept = {key: value for key, value in block.items() if key != "url"}
    return cast(Block, {**kept, "base64": encoded, "mime_type": block.get("mime_type") or head})
