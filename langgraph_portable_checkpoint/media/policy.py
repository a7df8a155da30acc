"""What to do with each medium on save: keep it in the message, store it apart, or leave a text in its place.

Owns the decision and the placeholder texts. Knows nothing of stores or of how values are walked.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any, Final, Literal, get_args

from langgraph_portable_checkpoint.envelope.media_types import ALIASES, OCTET_STREAM
from langgraph_portable_checkpoint.errors import MediaTooLargeError
from langgraph_portable_checkpoint.media.table import Reason

Mode = Literal["auto", "inline", "externalize", "strip"]
Decision = Literal["inline", "externalize", "strip"]
_MODES: Final = frozenset(get_args(Mode))
_PATTERN: Final = re.compile(r"\*/\*|[a-z0-9!#$&^_.+-]+/(\*|[a-z0-9!#$&^_.+-]+)")


@dataclasses.dataclass(frozen=True)
class MediaPolicy:
    """How a saver treats media. A save works on a copy: what the graph holds is never touched.

    Attributes:
        mode: "auto" and "externalize" store bytes apart, once per thread (auto leaves room for better judgement in
            later versions); "inline" keeps them in the message; "strip" leaves a text such as
            `[image/png, 136 B, removed on save]`.
        min_bytes: Smaller media stay inline (but are stripped under "strip").
        max_inline_bytes: Under "inline", larger media are stored apart all the same and reported as
            over_inline_threshold. For provider uploads without a store: larger bytes are not kept for a new upload.
        max_bytes: Larger media are refused: nothing of the call is stored.
        rules: Modes by mime type: "image/png", "image/*" or "*/*"; the most specific wins over `mode`. Other names of
            a type count as it ("image/jpg"). Bytes that declare no type, or octet-stream, are of the one they show.
        preserve_media: False strips every medium, references such as URLs and provider files included, whatever
            else is set: no later turn replays it.

    Bytes that no block announces and that are no known file (mime type None) are a channel's own data: they are never
    stripped.

    >>> MediaPolicy(mode="inline", rules={"video/*": "externalize"}).decide(1_000_000, "video/mp4")
    'externalize'
    """

    mode: Mode = "auto"
    min_bytes: int = 2048
    max_inline_bytes: int | None = 8 * 2**20
    max_bytes: int = 500 * 2**20
    rules: Mapping[str, Mode] = dataclasses.field(default_factory=dict)
    preserve_media: bool = True

    def __post_init__(self) -> None:
        problems = [*_mode_problems("mode", self.mode), *_size_problems(self), *_rule_problems(self.rules)]
        if not isinstance(self.preserve_media, bool):
            problems.append(f"preserve_media: {self.preserve_media!r:.40} is neither True nor False")
        if problems:
            raise ValueError("; ".join(problems))

    def decide(self, size_bytes: int, mime_type: str | None) -> Decision:
        """Decide about one medium.

        Raises:
            MediaTooLargeError: it is larger than `max_bytes` and would be stored.
        """
        mode = self._mode(mime_type)
        if mode == "strip":
            return "strip"
        if size_bytes > self.max_bytes:
            raise MediaTooLargeError(
                f"a medium ({mime_type or 'unnamed bytes'}) has {size_bytes} bytes, the policy's max_bytes is "
                f"{self.max_bytes}. Nothing was stored. Raise max_bytes, or pass a link instead of the bytes."
            )
        if size_bytes < self.min_bytes or (mode == "inline" and not self._over_inline(size_bytes)):
            return "inline"
        return "externalize"

    def reason(self, size_bytes: int, mime_type: str | None) -> Reason | None:
        """Return the report's reason for the decision, or None when there is nothing to report."""
        mode = self._mode(mime_type)
        if mode == "strip":
            return "stripped"
        return "over_inline_threshold" if mode == "inline" and self._over_inline(size_bytes) else None

    def select(self, size_bytes: int, mime_type: str | None) -> bool:
        """Say whether the walk takes the medium out; the shape that `walk.punch` asks for."""
        return self.decide(size_bytes, mime_type) != "inline"

    @property
    def look_from_bytes(self) -> int:
        """From which size on the walk has to look at leaves."""
        return 1 if self.strips else max(1, min(self.min_bytes, self.max_bytes))

    @property
    def strips(self) -> bool:
        """Whether some media may be stripped."""
        return not self.preserve_media or "strip" in (self.mode, *self.rules.values())

    def override(self, value: object) -> MediaPolicy:
        """Return the policy of one call: a mode, some fields as a map, or a whole policy; None changes nothing.

        >>> MediaPolicy(min_bytes=10).override({"mode": "strip"}).min_bytes
        10
        """
        match value:
            case None:
                return self
            case MediaPolicy():
                return value
            case str():
                return dataclasses.replace(self, mode=value)  # type: ignore[arg-type]  # checked when it is built
            case Mapping() if set(value) <= _FIELDS:
                return dataclasses.replace(self, **value)
        raise ValueError(f"not a media policy: {value!r:.80}. Pass a mode, a MediaPolicy or its fields")

    def _mode(self, mime_type: str | None) -> Mode:
        """Choose the mode for a type; bytes of no known type are never stripped."""
        wanted: Mode = self.mode if self.preserve_media else "strip"
        if self.rules and self.preserve_media:
            exact = mime_type or OCTET_STREAM
            rules = {**{ALIASES.get(pattern, pattern): mode for pattern, mode in self.rules.items()}, **self.rules}
            patterns = (exact, ALIASES.get(exact, exact), f"{exact.partition('/')[0]}/*", "*/*")
            wanted = next((rules[pattern] for pattern in patterns if pattern in rules), self.mode)
        return "externalize" if wanted == "strip" and mime_type is None else wanted

    def _over_inline(self, size_bytes: int) -> bool:
        return self.max_inline_bytes is not None and size_bytes > self.max_inline_bytes


def removed_text(mime_type: str | None, size_bytes: int | None) -> str:
    """Say in a message that a save took a medium away.

    >>> removed_text("image/png", 136)
    '[image/png, 136 B, removed on save]'
    """
    return _placeholder(mime_type, size_bytes, "removed on save")


def unavailable_text(mime_type: str | None, size_bytes: int | None) -> str:
    """Say in a message that a read could not find a medium's bytes.

    >>> unavailable_text(None, 20 * 2**20)
    '[data, 20971520 B, not available on read]'
    """
    return _placeholder(mime_type, size_bytes, "not available on read")


def expired_text(mime_type: str | None, size_bytes: int | None) -> str:
    """Say in a message that a provider's copy of a medium has expired and its bytes are not known.

    >>> expired_text("audio/wav", None)
    '[audio/wav, expired at the provider]'
    """
    return _placeholder(mime_type, size_bytes, "expired at the provider")


def _placeholder(mime_type: str | None, size_bytes: int | None, what: str) -> str:
    size = "" if size_bytes is None else f"{size_bytes} B, "
    return f"[{mime_type or 'data'}, {size}{what}]"


def _mode_problems(field: str, mode: object) -> list[str]:
    known = isinstance(mode, str) and mode in _MODES
    return [] if known else [f"{field}: {mode!r:.40} is none of auto, inline, externalize, strip"]


def _rule_problems(rules: object) -> list[str]:
    if not isinstance(rules, Mapping):
        return [f"rules: {rules!r:.40} is not a map of mime types to modes"]
    problems = [problem for pattern, mode in rules.items() for problem in _mode_problems(f"rules[{pattern!r}]", mode)]
    return problems + [
        f'rules: {pattern!r} is not a mime type such as "image/png", "image/*" or "*/*"'
        for pattern in rules
        if not _PATTERN.fullmatch(str(pattern))
    ]


def _size_problems(policy: MediaPolicy) -> list[str]:
    sizes = {"min_bytes": policy.min_bytes, "max_bytes": policy.max_bytes, "max_inline_bytes": policy.max_inline_bytes}
    problems = [
        f"{name}: {size!r:.40} is not a number of bytes"
        for name, size in sizes.items()
        if not (name == "max_inline_bytes" and size is None)
        and (not isinstance(size, int) or isinstance(size, bool) or size < 0)
    ]
    if not problems and policy.min_bytes > policy.max_bytes:
        problems.append("min_bytes is larger than max_bytes")
    return problems


_FIELDS: Final[frozenset[Any]] = frozenset(field.name for field in dataclasses.fields(MediaPolicy))
