"""Session envelopes of versions 1 to 3, import only: provider-native messages with the accounting of their session.

The messages are read by the dialect that they are of, found from `provider` or from the messages themselves (versions
1 and 2 name no provider). A `$media:<ref>` marker counts only where the envelope's own media table lists the ref: the
part then becomes a media reference, or gets the bytes that the table holds. Any other is data, and told, as is the
question of an interrupted turn, which is not in the history.

Source: "History and Checkpointing" of the toolkit that writes them: envelope, media table, interrupted turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from ..envelope.model import Block, MessageEnvelope
from ..errors import FutureVersionError, MalformedHistoryError, UnknownDialectError
from .base import DeclaredLoss, Dialect, ExportOptions, Field, Finding, ImportOptions, Rule
from .import_only import ImportOnly
from .integrations import BY_WORD
from .problems import Problems
from .report import Placed, Report

NAME: Final = "session-envelope"
VERSIONS: Final = (1, 2, 3)
MARKER: Final = "$media:"
INNER: Final[Mapping[str, tuple[str, str | None]]] = {
    "anthropic": ("anthropic", None),
    "openai": ("openai-responses", None),
    "google": ("google", None),
    "gemini": ("google", None),
    "fireworks": ("openai-chat", "fireworks"),
}
"""Dialect and profile by the provider that an envelope names."""
_NATIVE: Final = ("anthropic", "openai-responses", "google", "openai-chat", "bedrock", "mistral")
_OWN_KEYS: Final = frozenset({"metadata", "media", "media_policy", "media_report", "toolkit_version"})
_KEYS: Final = frozenset({"version", "messages", "provider", "model"})
"""What the envelopes of the first versions hold at least; no provider's request has a version."""
_NATIVE_BLOCKS: Final = ("non_standard", "server_tool_call", "server_tool_result")
_SOURCE: Final = "History and Checkpointing"


class SessionEnvelope(ImportOnly):
    """The dialect; see the module docstring."""

    name = NAME
    title = "session envelopes, versions 1 to 3"
    providers: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()
    unreadable = "S1"
    RULES: tuple[Rule, ...] = (
        Rule(id="S1", text="version is 1, 2 or 3; messages is a list in one provider's dialect", source=_SOURCE),
        Rule(id="S2", text="a $media marker names a ref of the media table", source=_SOURCE),
        Rule(id="S3", text="an interrupted turn's question is not in the history", source=_SOURCE),
    )
    FIELD_MAP: tuple[Field, ...] = (
        Field(neutral="messages", native="messages", note="read by the dialect they are of"),
        Field(neutral="origin.model", native="model", note="where the messages name none"),
        Field(neutral="media", native="$media:<ref> with its entry of the media table"),
        Field(neutral="base64 beside file_id", native="media table entry with uri and data"),
    )
    LOSSES: tuple[DeclaredLoss, ...] = (
        DeclaredLoss(
            rule="S2",
            kind="unresolved",
            when="media whose bytes are in the session's store, or whose marker the media table does not list",
        ),
        DeclaredLoss(rule="S3", kind="unresolved", when="an interrupted turn's question waits to be sent again"),
    )

    def parse(self, payload: Any, options: ImportOptions, report: Report) -> list[MessageEnvelope]:
        """Read an envelope as `to_dict` gives it.

        Raises:
            FutureVersionError: Its version is newer than 3.
        """
        problems = Problems(NAME)
        envelope = problems.mapping(payload, "")
        if envelope is None:
            raise MalformedHistoryError(NAME, problems.found)
        _check_version(envelope, problems)
        messages = envelope.get("messages")
        if not isinstance(messages, list):
            problems.add("messages", f"is {type(messages).__name__}, not a list")
        problems.raise_if_any()
        found = _read(envelope, options, report)
        _tell_interrupted(envelope, report)
        filling = _Filling(_media_table(envelope), report)
        return [filling.message(one, at) for at, one in enumerate(found)]

    def recognises(self, payload: Any) -> float:
        """A version and messages beside the session's own keys."""
        if not isinstance(payload, Mapping) or not isinstance(payload.get("messages"), list):
            return 0.0
        version = payload.get("version")
        newer = isinstance(version, int) and version > max(VERSIONS)  # may have any keys
        own = payload.keys() <= _KEYS or payload.keys() & _OWN_KEYS or newer
        return 0.98 if "version" in payload and own else 0.0

    def lint(self, payload: Any, options: ExportOptions) -> list[Finding]:
        """Return what an import would refuse or report, as findings."""
        report = Report(target=NAME)
        try:
            self.parse(payload, ImportOptions(), report)
        except (MalformedHistoryError, FutureVersionError) as error:
            return [Finding(rule="S1", path="", message=str(error))]
        return [Finding(rule=loss.rule, path=loss.path, message=f"{loss.action}: {loss.detail}") for loss in report]


def _check_version(envelope: Mapping[str, Any], problems: Problems) -> None:
    """A missing version is 1, as the first envelopes had none; an unknown one is never read as a known one."""
    version = envelope.get("version", 1)
    if isinstance(version, str) and version.isascii() and version.isdigit():
        version = int(version[:9])
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        problems.add("version", f"is {version!r:.40}, not a number from 1 on")
    elif version not in VERSIONS:
        raise FutureVersionError("session envelope", where="payload", found=version, supported=max(VERSIONS))


def _read(envelope: Mapping[str, Any], options: ImportOptions, report: Report) -> list[MessageEnvelope]:
    """Read the messages by their own dialect."""
    messages = envelope["messages"]
    if not messages:
        return []
    dialect, profile = _inner(envelope)
    model = options.model or (envelope["model"] if isinstance(envelope.get("model"), str) else None)
    inner = ImportOptions(profile=profile, model=model, account=options.account)
    try:
        return dialect.parse(messages, inner, report)
    except MalformedHistoryError as error:
        raise MalformedHistoryError(NAME, [f"messages{problem}" for problem in error.problems]) from error


def _inner(envelope: Mapping[str, Any]) -> tuple[Dialect, str | None]:
    """Choose the dialect: what the messages are surely of, else what the provider's sessions hold."""
    from .registry import get_dialect

    scores = [(get_dialect(name).recognises(envelope["messages"]), -at, name) for at, name in enumerate(_NATIVE)]
    score, _, name = max(scores)
    word = str(envelope.get("provider") or "").lower()
    spoken = BY_WORD.get(word)
    named = INNER.get(word) or ((spoken.dialect, spoken.profile) if spoken else None)
    if named is not None and (score < 0.85 or name == named[0]):
        return get_dialect(named[0]), named[1]
    if score <= 0.0:
        known = ", ".join(sorted({*INNER, *BY_WORD}))
        raise UnknownDialectError(
            f"no dialect recognises this envelope's messages, and its provider {envelope.get('provider')!r} is none of "
            f"{known}. Import its messages alone, with from_= one of {', '.join(_NATIVE)}."
        )
    return get_dialect(name), None


def _tell_interrupted(envelope: Mapping[str, Any], report: Report) -> None:
    metadata = envelope.get("metadata")
    turn = metadata.get("interrupted_turn") if isinstance(metadata, Mapping) else None
    if isinstance(turn, Mapping):
        facts = ", ".join(f"{key} {turn[key]}" for key in ("error_type", "failed_at", "files_attached") if key in turn)
        report.add("S3", "unresolved", action="left the question of an interrupted turn to be sent again", detail=facts)


def _media_table(envelope: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The media table by ref and by uri; it comes as a list of entries, or as a mapping to them."""
    table = envelope.get("media")
    entries = list(table.values()) if isinstance(table, Mapping) else table if isinstance(table, list) else []
    known = [entry for entry in entries if isinstance(entry, Mapping)]
    keyed = dict(table) if isinstance(table, Mapping) else {}
    found = {str(key): entry for key, entry in keyed.items() if isinstance(entry, Mapping)}
    return found | {str(entry[key]): entry for entry in known for key in ("ref", "uri") if entry.get(key)}


@dataclass(frozen=True)
class _Filling:
    """Puts what the media table holds in the place of its markers, and tells of each that stays."""

    table: Mapping[str, Mapping[str, Any]]
    report: Report

    def message(self, envelope: MessageEnvelope, index: int) -> MessageEnvelope:
        """Return the message with its media."""
        content = [self._block(block, Placed(envelope, index), at) for at, block in enumerate(envelope["content"])]
        if all(new is old for new, old in zip(content, envelope["content"], strict=True)):
            return envelope
        changed: MessageEnvelope = {**envelope, "content": content}
        changed.pop("raw_content", None)
        return changed

    def _block(self, block: Block, placed: Placed, at: int) -> Block:
        refs = [ref for ref in (_ref(block.get(key)) for key in ("base64", "url")) if ref is not None]
        if refs:
            return self._medium(block, refs[0], placed, at)
        entry = self.table.get(str(block.get("file_id") or block.get("url") or ""))
        if entry is not None and isinstance(entry.get("data"), str) and "base64" not in block:
            return {**block, "base64": entry["data"]}
        return self._native(block, placed, at) if block["type"] in _NATIVE_BLOCKS else block

    def _medium(self, block: Block, ref: str, placed: Placed, at: int) -> Block:
        """Give a part its bytes, or the reference to them."""
        entry = self.table.get(ref)
        if entry is None:
            self._tell("kept a part whose marker the media table does not list", ref, placed, at)
            return block
        kept: Any = {key: value for key, value in block.items() if key not in ("raw", "base64", "url")}
        if "mime_type" not in kept and isinstance(entry.get("mime_type"), str):
            kept["mime_type"] = entry["mime_type"]
        if isinstance(entry.get("data"), str):
            return cast(Block, {**kept, "base64": entry["data"]})
        self._tell("kept a part as a reference to the session's store", ref, placed, at)
        kept["media"] = {key: entry[key] for key in ("ref", "sha256", "mime_type", "size") if key in entry}
        return cast(Block, kept)

    def _native(self, block: Block, placed: Placed, at: int) -> Block:
        """Fill in markers inside an item that only its provider knows."""
        left: set[str] = set()
        filled = {key: self._filled(block[key], left) for key in ("value", "raw", "output") if key in block}
        for ref in sorted(left):
            self._tell("kept an item with a marker in it, whose bytes are not in the media table", ref, placed, at)
        return cast(Block, {**block, **filled}) if any(filled[key] is not block[key] for key in filled) else block

    def _filled(self, value: Any, left: set[str]) -> Any:
        if isinstance(value, (dict, Mapping)):
            found = {key: item if key == "text" else self._filled(item, left) for key, item in value.items()}
            return found if any(found[key] is not value[key] for key in found) else value
        if isinstance(value, list):
            items = [self._filled(item, left) for item in value]
            return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
        ref = _ref(value)
        if ref is None:
            return value
        data = self.table.get(ref, {}).get("data")
        if isinstance(data, str):
            return value.replace(MARKER + ref, data)
        left.add(ref)
        return value

    def _tell(self, action: str, ref: str, placed: Placed, at: int) -> None:
        self.report.add("S2", "unresolved", action=action, at=placed, path=f"content[{at}]", detail=ref[:100])


def _ref(value: Any) -> str | None:
    """The ref of a marker that stands where the bytes did, alone or behind a data URL's head."""
    if isinstance(value, str) and value.startswith(MARKER):
        return value.removeprefix(MARKER)
    if isinstance(value, str) and value.startswith("data:") and f";base64,{MARKER}" in value[:300]:
        return value.partition(f";base64,{MARKER}")[2]
    return None
