"""Who speaks: roles that a target knows, and the order in which it lets them speak. Steps of the normaliser. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ..envelope.model import Block, MessageEnvelope
from .base import Target
from .pairing import with_content
from .parts import Parts
from .report import Placed, Report
from .server_pairs import is_paused

OPENING: Final = "(The conversation starts with the assistant.)"
CONTINUE: Final = "Continue."


def known_roles(conversation: list[Placed], target: Target, report: Report) -> list[Placed]:
    """Make unknown roles user, save for neutral dialects."""
    if target.media is None:
        return conversation
    out: list[Placed] = []
    for placed in conversation:
        if placed.envelope["role"] == "other":
            detail = placed.envelope.get("role_detail", "")
            report.add(target.rule("role"), "downgraded", at=placed, action="the role became user", detail=detail)
            placed = with_role(placed, "user")
        out.append(placed)
    return out


def place_system(conversation: list[Placed], parts: Parts) -> list[Placed]:
    """Make system messages that do not lead user messages where they may not stand."""
    out: list[Placed] = []
    leading = True
    for placed in conversation:
        leading = leading and placed.envelope["role"] == "system"
        if placed.envelope["role"] == "system" and not leading and not _may_stand(parts.target, out):
            parts.lose("mid_system", "downgraded", placed, action="a later system message became a user message")
            placed = with_role(placed, "user")
        out.append(placed)
    return out


def _may_stand(target: Target, before: Sequence[Placed]) -> bool:
    if target.mid_system == "after-user":
        return before[-1].envelope["role"] == "user"
    return target.system == "anywhere" or target.mid_system == "keep"


def with_role(placed: Placed, role: Any) -> Placed:
    """Return a message that another role says; what was native of it as a whole goes."""
    envelope: MessageEnvelope = {**placed.envelope, "role": role}
    envelope.pop("raw_content", None)
    return placed.having(envelope)


def drop_empty(conversation: list[Placed], parts: Parts) -> list[Placed]:
    """Drop messages without content; a tool message stays, its call needs it."""
    if parts.target.media is None or all(placed.envelope["content"] for placed in conversation):
        return conversation
    out = []
    for placed in conversation:
        if placed.envelope["content"] or placed.envelope["role"] == "tool":
            out.append(placed)
        else:
            parts.lose("empty_message", "dropped", placed, action="a message without content was left out")
    return out


def open_and_close(conversation: list[Placed], parts: Parts) -> list[Placed]:
    """Make the first message after system messages, and the last one, a user's where the target demands it."""
    target = parts.target
    first = next((at for at, placed in enumerate(conversation) if placed.envelope["role"] != "system"), None)
    if first is None:
        return conversation
    if target.starts_with_user and conversation[first].envelope["role"] != "user":
        parts.lose("first_role", "synthesized", conversation[first], action="an opening user message was made")
        conversation = [*conversation[:first], _user_says(OPENING, conversation[first]), *conversation[first:]]
    last = conversation[-1]
    waits = target.ends_with_user and not parts.options.for_next_turn and last.envelope["role"] == "assistant"
    if waits and not is_paused(last, target.providers):
        parts.lose("last_role", "synthesized", last, action="a closing user message was made")
        conversation = [*conversation, _user_says(CONTINUE, last)]
    return conversation


def _user_says(text: str, cause: Placed) -> Placed:
    envelope: MessageEnvelope = {
        "v": cause.envelope["v"],
        "role": "user",
        "content": [{"type": "text", "text": text}],
        "typed_by_user": False,
    }
    return Placed(envelope, cause.index, cause.turn)


def alternate(conversation: list[Placed], parts: Parts) -> list[Placed]:
    """Merge runs of user messages and of assistant messages; tool messages are joined by the renderer."""
    if not parts.target.alternates:
        return conversation
    out: list[Placed] = []
    for placed in conversation:
        role = placed.envelope["role"]
        if out and role in ("user", "assistant") and out[-1].envelope["role"] == role:
            parts.lose("alternation", "merged", placed, action=f"consecutive {role} messages became one")
            spots = (*out[-1].all_spots(), *placed.all_spots())
            out[-1] = with_content(out[-1], [*out[-1].envelope["content"], *_with_origins(placed)], spots=spots)
        else:
            out.append(placed)
    return out


def _with_origins(placed: Placed) -> list[Block]:
    """Return the content, each block with its message's origin: it may join a message of another origin."""
    origin = placed.envelope.get("origin")
    if not origin:
        return placed.envelope["content"]
    return [block if "origin" in block else {**block, "origin": origin} for block in placed.envelope["content"]]
