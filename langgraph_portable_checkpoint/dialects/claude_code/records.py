"""One line of a Claude Code session file: its place in the tree, what it says, and who said it.

Owns what a single line means. Knows nothing of the lines around it.

Source: provider-rules "Claude Code JSONL"; messages of the official SDK's stream (`parent_tool_use_id`, `isSynthetic`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..jsonl import Line

TREE_TYPES: Final = ("user", "assistant", "progress", "system", "attachment")
SYNTHETIC_MODEL: Final = "<synthetic>"
INTERRUPTED: Final = "[Request interrupted by user"
PROGRAM_MARKS: Final = ("isMeta", "isCompactSummary", "isSynthetic")
PROGRAM_TAGS: Final = frozenset(
    {"local-command-stdout", "local-command-stderr", "local-command-caveat", "bash-stdout", "bash-stderr"}
    | {"task-notification", "system-reminder", "user-prompt-submit-hook", "new-diagnostics", "teammate-message"}
    | {"ide_opened_file", "ide_selection", "ide_diagnostics"}
)
"""Elements that the program puts into the user's role; a command's name and input are what a person typed."""
_HUMAN: Final = (None, "human")


@dataclass(frozen=True, slots=True)
class Record:
    """One line of the tree: its line number, its place, its message if it has one, and the object as written."""

    line: int
    uuid: str
    parent: str | None
    type: str
    message: Mapping[str, Any]
    message_id: str | None
    value: Mapping[str, Any]

    @staticmethod
    def of(line: Line, uuid: str, parent: str | None) -> Record:
        """Make the record of a line."""
        message = line.value.get("message")
        message = message if isinstance(message, dict) else {}
        found = message.get("id")
        message_id = found if isinstance(found, str) and found else None
        return Record(line.number, uuid, parent, str(line.value["type"]), message, message_id, line.value)

    def blocks(self, kind: str) -> list[Mapping[str, Any]]:
        content = self.message.get("content")
        items = content if isinstance(content, list) else []
        return [item for item in items if isinstance(item, Mapping) and item.get("type") == kind]

    @property
    def request_id(self) -> str | None:
        found = self.value.get("requestId")
        return found if isinstance(found, str) and found else None

    @property
    def made(self) -> set[str]:
        """The ids of the calls that this line makes."""
        return {str(block.get("id")) for block in self.blocks("tool_use")} if self.type == "assistant" else set()

    @property
    def answered(self) -> set[str]:
        """The ids of the calls whose results this line holds."""
        return {str(block.get("tool_use_id")) for block in self.blocks("tool_result")} if self.type == "user" else set()

    @property
    def said(self) -> tuple[str, Any] | None:
        """What a person typed or a model said here, and which of the two; None where nobody said anything."""
        if self.type == "attachment":
            prompt = queued_prompt(self)
            return None if prompt is None else ("user", prompt)
        return (self.type, self.message.get("content")) if self.type in ("user", "assistant") else None

    @property
    def is_boundary(self) -> bool:
        """True for the line that a compaction begins with."""
        return self.type == "system" and self.value.get("subtype") == "compact_boundary"

    @property
    def hidden(self) -> bool:
        return bool(self.value.get("teamName")) or of_subagent(self.value)

    @property
    def synthetic(self) -> bool:
        return self.type == "assistant" and self.message.get("model") == SYNTHETIC_MODEL

    @property
    def aside(self) -> bool:
        """True for what the program says beside the conversation; a summary is the conversation itself."""
        return self.by_program and not self.value.get("isCompactSummary")

    @property
    def of_call(self) -> str | None:
        """The call that the program says this line belongs to, as a skill's text does."""
        found = self.value.get("sourceToolUseID")
        return found if isinstance(found, str) and found else None

    @property
    def by_program(self) -> bool:
        """True if the line itself says that the program wrote it in the user's role."""
        facts = self.value
        if self.type == "attachment" and isinstance(self.value.get("attachment"), Mapping):
            facts = self.value["attachment"]
        origin = facts.get("origin")
        kind = origin.get("kind") if isinstance(origin, Mapping) else None
        marked = any(self.value.get(mark) or facts.get(mark) for mark in PROGRAM_MARKS)
        return marked or facts.get("commandMode") == "task-notification" or kind not in _HUMAN


def of_subagent(value: Mapping[str, Any]) -> bool:
    """True if a line belongs to a subagent; the SDK's stream names the call that started it."""
    return bool(value.get("isSidechain") or value.get("parent_tool_use_id"))


def queued_prompt(record: Record) -> str | list[Any] | None:
    """The text that a person typed while the model was at work, which is written as an attachment."""
    attachment = record.value.get("attachment")
    if not isinstance(attachment, Mapping) or attachment.get("type") != "queued_command":
        return None
    prompt = attachment.get("prompt")
    return prompt if isinstance(prompt, (str, list)) else None


def are_programs(texts: Iterable[str]) -> bool:
    """True if there are texts, and all of them are what the program writes in the user's role."""
    found = [*texts]
    return bool(found) and all(text.startswith(INTERRUPTED) or _is_tagged(text) for text in found)


def _is_tagged(text: str) -> bool:
    """True if a text is nothing but the program's elements, one after the other."""
    at = 0
    while rest := text[at : at + 80].lstrip():
        name = rest[1:].partition(">")[0].split(maxsplit=1)[:1]
        if not rest.startswith("<") or not name or name[0] not in PROGRAM_TAGS:
            return False
        end = text.find(f"</{name[0]}>", at)
        if end < 0:
            return False
        at = end + len(name[0]) + 3
    return at > 0 and not text[at:].strip()
