"""The shared normaliser: makes any conversation fit a target, and reports each change. Pure.

Its steps, in order: pair calls and results, map ids, fit roles and content, move media out of tool results, settle the
order within messages, drop what became empty, meet the target's rules about system messages and who speaks first, next
and last.
What a target demands is data (`Target`); rule ids for the report come from it too. A conversation that needs nothing
comes out as the same objects, raw content included. `concerns.py` lists every loss that can arise here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ..envelope.model import Block, MessageEnvelope
from ..errors import IncompatibleHistoryError
from .arguments import plain_arguments
from .base import ExportOptions, Target, without_raw
from .beside import MEDIA_PARTS
from .concerns import CONCERNS, PROFILE_LOSS, normaliser_losses
from .ids import IdMap
from .links import CALL_TYPES
from .names import name_messages, tell_message_keys
from .pairing import Paired, pair, quoted, with_content
from .parts import UNKNOWN_TOOL, Parts
from .reasoning import Replay, begins_with_summary, first_change, target_model
from .report import Placed, Report, Spot
from .server_pairs import is_paused, paired_halves
from .speakers import alternate, drop_empty, known_roles, open_and_close, place_system, with_role

_MEDIA: Final = MEDIA_PARTS | {"non_standard"}


@dataclass(frozen=True)
class Normalised:
    """A conversation that fits its target, and the ids of calls that wait for a human."""

    conversation: list[Placed]
    pending: tuple[str, ...] = ()


@dataclass(frozen=True)
class Traits:
    """What a history has at all, so that steps about what it has not need not walk it."""

    roles: frozenset[str]
    types: frozenset[str]
    keys: frozenset[str]
    """Keys of its envelopes."""

    @classmethod
    def of(cls, conversation: Sequence[Placed]) -> Traits:
        """Look at a history once."""
        envelopes = [placed.envelope for placed in conversation]
        roles = frozenset([envelope["role"] for envelope in envelopes])
        types = frozenset([block["type"] for envelope in envelopes for block in envelope["content"]])
        return cls(roles, types, frozenset().union(*envelopes))

    @property
    def calls(self) -> bool:
        """Calls of the client's tools."""
        return not self.types.isdisjoint(CALL_TYPES)

    @property
    def server_tools(self) -> bool:
        """Calls or results of the provider's own tools."""
        return "server_tool_call" in self.types or "server_tool_result" in self.types

    @property
    def tool_media(self) -> bool:
        """Media in results; blocks of unknown type may turn out to be some."""
        return "tool" in self.roles and not self.types.isdisjoint(_MEDIA)


def normalise(conversation: Sequence[Placed], target: Target, *, options: ExportOptions, report: Report) -> Normalised:
    """Make a conversation fit a target. The input is not changed.

    Raises:
        IncompatibleHistoryError: Nothing is left, or `options` say that a problem is an error.
        UnsupportedPartError: A part cannot be exported and `options.on_unsupported_part` is "raise".
    """
    has = Traits.of(conversation)
    model = target_model(conversation, target, options)
    paired = Paired([*conversation], {})
    if target.pairs and (has.calls or "tool" in has.roles):
        paired = pair(conversation, target, options=options, report=report)
    if target.pairs and not target.tools:
        paired = _without_tools(paired, report, target.rule("tools"), "the target knows no tools")
    elif target.pairs and isinstance(options.model, Mapping) and options.model.get("tool_calling") is False:
        paired = _without_tools(paired, report, PROFILE_LOSS.rule, "the model calls no tools")
    intact = options.prefix_intact and not ("reasoning" in has.types and begins_with_summary(conversation))
    replay = Replay(target, options, model, broken=not intact)
    placed = _map_ids(paired, target, report) if has.calls else paired.conversation
    placed = known_roles(placed, target, report) if "other" in has.roles else placed
    changed_at = first_change(conversation, placed, target, paired.changed_at) if "reasoning" in has.types else None
    served = target.server_tools == "pairs" and has.server_tools
    resumes = not options.for_next_turn and bool(placed) and is_paused(placed[-1], target.providers)
    halves = paired_halves(placed, typed_results=target.typed_results, resumes=resumes) if served else frozenset()
    parts = Parts(target, options, report, replay, _open_turn(paired.conversation), halves)
    placed = _fit_content(placed, parts, changed_at=changed_at)
    for concerns, step in _STEPS:
        placed = step(placed, parts) if concerns(has) else placed
    if not target.keeps_empty:
        _refuse_empty(conversation, placed, target)
    return Normalised(placed, paired.pending)


def _without_tools(paired: Paired, report: Report, rule: str, reason: str) -> Paired:
    """Tell calls and results as text, for a model that knows no tools."""
    out: list[Placed] = []
    for placed in paired.conversation:
        role = placed.envelope["role"]
        calls = any(block["type"] in CALL_TYPES for block in placed.envelope["content"])
        if role == "tool" or (role == "assistant" and calls):
            report.add(rule, PROFILE_LOSS.kind, at=placed, action=f"calls and results became text: {reason}")
            told = [_told(block) for block in placed.envelope["content"]]
            placed = quoted(placed) if role == "tool" else with_content(placed, told)
        out.append(placed)
    return Paired(out, {}, paired.pending, paired.changed_at)


def _told(block: Block) -> Block:
    if block["type"] not in CALL_TYPES:
        return block
    return {"type": "text", "text": f"[{block.get('name') or UNKNOWN_TOOL} is called with {plain_arguments(block)}]"}


def _refuse_empty(conversation: Sequence[Placed], left: Sequence[Placed], target: Target) -> None:
    """Refuse a history of which no message is left, and one that had none; instructions alone may be a request."""
    if any(placed.envelope["role"] != "system" for placed in left):
        return
    if any(placed.envelope["role"] != "system" for placed in conversation):
        raise nothing_left(conversation, but="nothing but system messages" if left else "nothing")
    if not left or target.system == "apart":
        raise IncompatibleHistoryError(
            "it has nothing but system messages" if left else "it has no message",
            turn=None,
            fix="Add the message that comes next, or select at least one turn.",
        )


def nothing_left(conversation: Sequence[Placed], *, but: str = "nothing") -> IncompatibleHistoryError:
    """Return the error of a history of which the target takes no message."""
    return IncompatibleHistoryError(
        f"{but} is left of it",
        turn=conversation[-1].turn,
        fix=_fix(conversation),
    )


def _fix(conversation: Sequence[Placed]) -> str:
    """Tell what to do about a history of which nothing is left."""
    said = {placed.envelope["role"] for placed in conversation} - {"system"}
    calls = any(block["type"] in CALL_TYPES for placed in conversation for block in placed.envelope["content"])
    if calls or "tool" in said:
        return (
            'Its only turn is unfinished: export with incomplete="trim" or incomplete="synthesize", '
            'or keep lone results with orphans="text".'
        )
    return "It holds nothing but blank texts, or parts that this target leaves out."


def _open_turn(conversation: Sequence[Placed]) -> int | None:
    ends_inside = bool(conversation) and conversation[-1].envelope["role"] == "tool"
    return conversation[-1].turn if ends_inside else None


def _map_ids(paired: Paired, target: Target, report: Report) -> list[Placed]:
    """Give calls, and the results that belong to them, ids that the target takes."""
    if target.call_id is None or (paired.ids is not None and all(map(target.call_id.accepts, paired.ids))):
        return paired.conversation
    ids = IdMap(target.call_id, unique=target.unique_call_ids)
    new_ids: dict[tuple[int, int], str | None] = {}
    out: list[Placed] = []
    for position, placed in enumerate(paired.conversation):
        if placed.envelope["role"] == "assistant":
            placed = _map_call_ids(position, placed, (ids, new_ids), target, report)
        elif position in paired.call_of:
            new = new_ids[paired.call_of[position]]
            if placed.envelope.get("tool_call_id") != new:
                placed = placed.having({**placed.envelope, "tool_call_id": new})
        out.append(placed)
    return out


def _map_call_ids(
    position: int,
    placed: Placed,
    maps: tuple[IdMap, dict[tuple[int, int], str | None]],
    target: Target,
    report: Report,
) -> Placed:
    ids, new_ids = maps
    ids.start_step()
    content: list[Block] | None = None
    for at, block in enumerate(placed.envelope["content"]):
        if block["type"] not in CALL_TYPES:
            continue
        old = block.get("id")
        new = new_ids[position, at] = ids.assign(old)
        if new != old:
            content = content or list(placed.envelope["content"])
            content[at] = without_raw(block, id=new)
            report.add(
                target.rule("repeated_call_id" if target.call_id and target.call_id.accepts(old) else "call_id"),
                "re-keyed",
                at=placed,
                path=f"{placed.part(at)[1]}.id",
                action="the call and its result got an id that fits",
                detail=f"{old} -> {new}",
            )
    return with_content(placed, content) if content else placed


def _fit_content(conversation: list[Placed], parts: Parts, *, changed_at: int | None) -> list[Placed]:
    out = []
    for placed in conversation:
        if changed_at is not None and placed.index is not None and placed.index > changed_at:
            parts.replay.broken = True
        out.append(placed if parts.stays(placed.envelope) else parts.fit(placed))
    return out


def _tool_status(conversation: list[Placed], parts: Parts) -> list[Placed]:
    if not parts.target.tool_status:
        for placed in conversation:
            if placed.envelope["role"] == "tool" and placed.envelope.get("status") == "error":
                action = "the error flag was lost; the text stays"
                parts.lose("tool_status", "downgraded", placed, "status", action=action)
    return conversation


def _move_tool_media(conversation: list[Placed], parts: Parts) -> list[Placed]:
    """Put media of tool results into a user message behind all results of their step."""
    if parts.target.tool_media == "keep" or parts.target.media is None:
        return conversation
    out: list[Placed] = []
    moved: list[tuple[Placed, str, Block]] = []
    for placed in conversation:
        if placed.envelope["role"] == "tool":
            placed = _without_media(placed, parts, moved)
        elif moved:
            out.append(_media_message(moved, parts))
            moved = []
        out.append(placed)
    return [*out, _media_message(moved, parts)] if moved else out


def _without_media(placed: Placed, parts: Parts, moved: list[tuple[Placed, str, Block]]) -> Placed:
    content: list[Block] = []
    before = len(moved)
    for at, block in enumerate(placed.envelope["content"]):
        if parts.media.moves(block):
            moved.append((placed, placed.part(at)[1], block))
            content.append(
                {"type": "text", "text": f"[{block.get('mime_type') or block['type']}: see the next user message]"}
            )
        else:
            content.append(block)
    return with_content(placed, content) if len(moved) > before else placed


def _media_message(moved: Sequence[tuple[Placed, str, Block]], parts: Parts) -> Placed:
    content: list[Block] = []
    spots: list[Spot] = []
    for source, path, block in moved:
        name = source.envelope.get("name") or source.envelope.get("tool_call_id")
        parts.lose("tool_media", "moved", source, path, action="media of a result went into a user message behind it")
        as_user = with_role(source, "user")
        content.append({"type": "text", "text": f"From the result of {name}:"})
        content.extend(parts.media.fit(without_raw(block, origin=source.envelope.get("origin") or {}), as_user, path))
        spots += [(source.index, int(path[len("content[") : -1]))] * (len(content) - len(spots))
    last = moved[-1][0]
    envelope: MessageEnvelope = {"v": last.envelope["v"], "role": "user", "content": content, "typed_by_user": False}
    return Placed(envelope, last.index, last.turn, tuple(spots))


def _require_reasoning(conversation: list[Placed], parts: Parts) -> list[Placed]:
    rule = parts.target.reasoning
    if rule is None or not rule.required_with_calls:
        return conversation
    out = []
    for placed in conversation:
        types = {block["type"] for block in placed.envelope["content"]}
        if types & set(CALL_TYPES) and "reasoning" not in types:
            action = "an empty reasoning field was added"
            parts.lose("reasoning_required", "synthesized", placed, action=action)
            content: list[Block] = [{"type": "reasoning", "reasoning": ""}, *placed.envelope["content"]]
            placed = with_content(placed, content, spots=((placed.index, 0), *placed.all_spots()))
        out.append(placed)
    return out


def _order_within(conversation: list[Placed], parts: Parts) -> list[Placed]:
    """Put calls behind a message's other content, and apart from its text, where the target wants that."""
    target = parts.target
    if not target.calls_last and target.text_with_calls:
        return conversation
    out: list[Placed] = []
    for placed in conversation:
        content = placed.envelope["content"]
        if len(content) < 2:
            out.append(placed)
            continue
        calls: Sequence[int] = [at for at, block in enumerate(content) if block["type"] in CALL_TYPES]
        if not calls or len(calls) == len(content):
            out.append(placed)
            continue
        others: Sequence[int] = range(calls[0])
        if len(calls) + calls[0] < len(content):
            others = [at for at, block in enumerate(content) if block["type"] not in CALL_TYPES]
        if target.calls_last and calls[0] < others[-1] and not _is_own(placed, target):
            parts.lose("calls_last", "reordered", placed, action="the calls were put last")
            placed = _having_only(placed, [*others, *calls])
            others, calls = range(len(others)), range(len(others), len(content))
        if target.text_with_calls or (target.own_text_with_calls and _is_own(placed, target)):
            out.append(placed)
        else:
            parts.lose("text_with_calls", "moved", placed, action="text and calls became two messages")
            out.extend((_having_only(placed, others), _having_only(placed, calls)))
    return out


def _having_only(placed: Placed, positions: Sequence[int]) -> Placed:
    """Return a message with some of its blocks, in the order given."""
    content, spots = placed.envelope["content"], placed.spots
    found = [(placed.index, at) for at in positions] if spots is None else [spots[at] for at in positions]
    return with_content(placed, [content[at] for at in positions], spots=found)


def _is_own(placed: Placed, target: Target) -> bool:
    origin = placed.envelope.get("origin") or {}
    return origin.get("provider") in target.providers and origin.get("api", target.api) == target.api


def _always(has: Traits) -> bool:
    return True


_Step = Callable[[list[Placed], Parts], list[Placed]]
_STEPS: Final[tuple[tuple[Callable[[Traits], bool], _Step], ...]] = (
    (lambda has: has.calls or "name" in has.keys, name_messages),
    (lambda has: "extras" in has.keys, tell_message_keys),
    (lambda has: has.calls or "status" in has.keys, _tool_status),
    (lambda has: has.tool_media, _move_tool_media),
    (lambda has: has.calls, _require_reasoning),
    (lambda has: has.calls, _order_within),
    (_always, drop_empty),
    (lambda has: "system" in has.roles, place_system),
    (_always, open_and_close),
    (_always, alternate),
)
"""The steps after content fits, in order, each with what a history must have for it; calls may get results made."""

__all__ = [
    "CONCERNS",
    "PROFILE_LOSS",
    "Normalised",
    "normalise",
    "normaliser_losses",
    "nothing_left",
]
