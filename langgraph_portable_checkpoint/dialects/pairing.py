"""What becomes of calls and results that are alone, late or out of order.

Pure functions over placed envelopes; which result belongs to which call is for `links.py` to say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from ..envelope.model import Block, MessageEnvelope
from ..errors import IncompatibleHistoryError
from .base import ExportOptions, Target
from .links import CALL_TYPES, Call, Links, link
from .report import Placed, Report, Spot

NO_RESULT: Final = "No result was recorded for this call: the run stopped before the tool answered."


@dataclass
class Paired:
    """A conversation whose calls and results match, with what the next steps need to know.

    `call_of` maps the position of a tool message to its call's (message position, block position); `changed_at` is
    the first source position at which something was dropped, made or moved; `ids` are the ids of all calls where each
    has one of its own, else None.
    """

    conversation: list[Placed]
    call_of: dict[int, tuple[int, int]]
    pending: tuple[str, ...] = ()
    changed_at: int | None = None
    ids: Collection[str] | None = None


def pair(conversation: Sequence[Placed], target: Target, *, options: ExportOptions, report: Report) -> Paired:
    """Make calls and results match: end before an unfinished turn, settle lone calls and results, order results.

    Raises:
        IncompatibleHistoryError: A call has no result and `options.incomplete` is "raise".
    """
    in_order = _in_order(conversation)
    if in_order is not None:
        return in_order
    conversation = [_without_phantoms(placed, target, report) for placed in conversation]
    links = link(conversation)
    end, pending = _end_of_complete(conversation, links, target=target, options=options, report=report)
    return _Pairing(conversation, end, links, target, options, report).run(pending)


def _without_phantoms(placed: Placed, target: Target, report: Report) -> Placed:
    """Leave out calls of nothing, with neither name nor id nor arguments, which merged streams may leave behind."""
    content = placed.envelope["content"]
    kept = [at for at, block in enumerate(content) if not _is_phantom(block)]
    if placed.envelope["role"] != "assistant" or len(kept) == len(content):
        return placed
    report.add(
        target.rule("dangling_call"), "dropped", at=placed, action="a call without name, id and arguments is none"
    )
    spots = placed.all_spots()
    return with_content(placed, [content[at] for at in kept], spots=[spots[at] for at in kept])


def _is_phantom(block: Block) -> bool:
    return block["type"] in CALL_TYPES and not (block.get("name") or block.get("id") or block.get("args"))


def _in_order(conversation: Sequence[Placed]) -> Paired | None:
    """Pair a history in which each call has an id of its own, and the results of a message follow it in its order.

    Such a history stays as it is for every target. None for any other.
    """
    call_of: dict[int, tuple[int, int]] = {}
    calls: dict[str, tuple[int, int]] = {}
    open_calls: list[str] = []
    for position, placed in enumerate(conversation):
        envelope = placed.envelope
        role = envelope["role"]
        if role == "tool":
            if not open_calls or envelope.get("tool_call_id") != open_calls[0]:
                return None
            call_of[position] = calls[open_calls.pop(0)]
        elif open_calls:
            return None
        elif role == "assistant":
            for at, block in enumerate(envelope["content"]):
                if block["type"] in CALL_TYPES:
                    call_id = block.get("id")
                    if not call_id or call_id in calls:
                        return None
                    calls[call_id] = (position, at)
                    open_calls.append(call_id)
    return None if open_calls else Paired([*conversation], call_of, ids=calls)


def _end_of_complete(
    conversation: Sequence[Placed], links: Links, *, target: Target, options: ExportOptions, report: Report
) -> tuple[int, tuple[str, ...]]:
    """Return how many messages to keep, and the ids of pending calls that are cut off."""
    waiting = [call for call in links.calls if call.result is None and _is_trailing(conversation, call)]
    pending = tuple(call.id for call in waiting if call.id is not None and call.id in options.pending)
    if not waiting or (options.incomplete == "synthesize" and not pending):
        return len(conversation), ()
    if options.incomplete == "raise" and not pending:
        raise _unanswered(conversation[waiting[0].message], waiting[0])
    end = _end_before(conversation, waiting[0], whole_turn=options.incomplete != "trim")
    for call in waiting:
        if call.id in pending:
            report.add(
                target.rule("dangling_call"),
                "unresolved",
                at=conversation[call.message],
                path=f"content[{call.block}]",
                action="left out: the call waits for a human and was not answered here",
                detail=f"pending call {call.id}",
            )
    rescued = {call.result for call in links.calls if call.message < end}
    for position, placed in enumerate(conversation[end:], end):
        if position not in rescued:
            report.add(
                target.rule("dangling_call"),
                "dropped",
                at=placed,
                action="left out: the history ends before the step or turn whose call has no result",
                detail=f"call {waiting[0].id}",
            )
    return end, pending


def _end_before(conversation: Sequence[Placed], call: Call, *, whole_turn: bool) -> int:
    """Return where to cut: before the call's turn if a turn stands before it, else before its message."""
    if whole_turn:
        turn = conversation[call.message].turn
        start = next((at for at, placed in enumerate(conversation) if placed.turn == turn), call.message)
        if any(placed.envelope["role"] != "system" for placed in conversation[:start]):
            return start
    return call.message


def _is_trailing(conversation: Sequence[Placed], call: Call) -> bool:
    """A call is trailing if no message of another kind than results follows its message."""
    position = call.message + 1
    while position < len(conversation) and conversation[position].envelope["role"] == "tool":
        position += 1
    return position == len(conversation)


def _unanswered(placed: Placed, call: Call) -> IncompatibleHistoryError:
    return IncompatibleHistoryError(
        f"the call {call.id!r} of message {placed.index} has no result",
        turn=placed.turn,
        fix='Answer it, or export with incomplete="drop" or incomplete="synthesize".',
    )


@dataclass
class _Pairing:
    """One pass over a conversation that drops, makes and moves results."""

    conversation: Sequence[Placed]
    end: int
    links: Links
    target: Target
    options: ExportOptions
    report: Report
    changed_at: int | None = None
    out: list[Placed] = field(default_factory=list)
    call_of: dict[int, tuple[int, int]] = field(default_factory=dict)
    _new_place: dict[Call, tuple[int, int]] = field(default_factory=dict)
    """Message and block position in `out` of each call that stays."""

    def run(self, pending: tuple[str, ...]) -> Paired:
        """Return the paired conversation."""
        calls: dict[int, list[Call]] = {}
        for call in self.links.calls:
            calls.setdefault(call.message, []).append(call)
        owner = {call.result: call for call in self.links.calls if call.result is not None}
        orphans, duplicates = set(self.links.orphans), set(self.links.duplicates)
        for position, placed in enumerate(self.conversation[: self.end]):
            if position in orphans or position in duplicates:
                self._lone_result(placed, duplicate=position in duplicates)
            elif position in calls:
                self._message(position, placed, calls[position])
            elif position not in owner:
                self.out.append(placed)
            elif self.target.results == "later":
                self._result(owner[position], placed)
        return Paired(self.out, self.call_of, pending, self.changed_at)

    def _message(self, position: int, placed: Placed, calls: list[Call]) -> None:
        if all(call.result is not None for call in calls):
            self._new_place |= {call: (len(self.out), call.block) for call in calls}
            self.out.append(placed)
            for call, result in self._results(position, calls, []):
                self._result(call, result)
            return
        kept, made = self._settle(placed, calls)
        staying = {*kept, *made}
        removed = {call.block for call in calls if call not in staying}
        shift = _new_positions(len(placed.envelope["content"]), removed)
        self._new_place |= {call: (len(self.out), shift[call.block]) for call in staying}
        self.out.append(_without_blocks(placed, removed) if removed else placed)
        for call, result in self._results(position, kept, made):
            self._result(call, result)

    def _result(self, call: Call, result: Placed) -> None:
        self.call_of[len(self.out)] = self._new_place[call]
        self.out.append(result)

    def _settle(self, placed: Placed, calls: list[Call]) -> tuple[list[Call], list[Call]]:
        """Split calls into those that have a result and those that get one made; the rest is dropped."""
        kept = [call for call in calls if call.result is not None]
        lonely = [call for call in calls if call.result is None]
        if not lonely:
            return kept, []
        self._change(placed)
        if self.options.incomplete == "raise":
            raise _unanswered(placed, lonely[0])
        answers = self.options.incomplete == "synthesize"
        made = [call for call in lonely if answers and call.id not in self.options.pending]
        for call in lonely:
            self.report.add(
                self.target.rule("dangling_call"),
                "synthesized" if call in made else "dropped",
                at=placed,
                path=f"content[{call.block}]",
                action="an error result was made" if call in made else "the call has no result and was left out",
                detail=f"call {call.id}",
            )
        return kept, made

    def _results(self, position: int, kept: list[Call], made: list[Call]) -> Iterator[tuple[Call, Placed]]:
        """Yield the results that go directly behind a message, in their final order."""
        found = kept
        if len(kept) > 1:
            by_call = self.target.result_order == "call"
            found = sorted(kept, key=lambda call: call.block if by_call else call.result or 0)
        if self.target.results == "later":
            found = [call for call in found if (call.result or 0) >= self.end]
        self._report_order(position, found)
        results = [(call, self.conversation[call.result or 0]) for call in found]
        results += [(call, _made_result(self.conversation[position], call)) for call in made]
        if self.target.result_order == "call":  # such targets match results to calls by their order
            results.sort(key=lambda pair: pair[0].block)
        yield from results

    def _report_order(self, position: int, found: list[Call]) -> None:
        if all(call.result == place for place, call in enumerate(found, position + 1)):
            return
        places = range(position + 1, position + 1 + len(found))
        direct = {call.result for call in found} == set(places)
        for place, call in zip(places, found, strict=True):
            if call.result != place:
                placed = self.conversation[call.result or 0]
                self._change(self.conversation[position + 1])
                self.report.add(
                    self.target.rule("result_order" if direct else "late_result"),
                    "reordered",
                    at=placed,
                    action="the result was put in the order of its calls"
                    if direct
                    else "the result was moved directly behind its call",
                    detail=f"call {call.id}",
                )

    def _lone_result(self, placed: Placed, *, duplicate: bool) -> None:
        self._change(placed)
        as_text = self.options.orphans == "text" and not duplicate
        said = "left out: the call is answered already" if duplicate else "left out: it answers no call"
        self.report.add(
            self.target.rule("duplicate_result" if duplicate else "orphan_result"),
            "downgraded" if as_text else "dropped",
            at=placed,
            action="became a user message: it answers no call" if as_text else said,
            detail=f"call {placed.envelope.get('tool_call_id')}",
        )
        if as_text:
            self.out.append(quoted(placed))

    def _change(self, placed: Placed) -> None:
        if self.changed_at is None and placed.index is not None:
            self.changed_at = placed.index


def _new_positions(count: int, removed: set[int]) -> dict[int, int]:
    return {block: at for at, block in enumerate(block for block in range(count) if block not in removed)}


def _without_blocks(placed: Placed, removed: set[int]) -> Placed:
    spots = placed.all_spots()
    left = [at for at in range(len(spots)) if at not in removed]
    content = placed.envelope["content"]
    return with_content(placed, [content[at] for at in left], spots=[spots[at] for at in left])


def with_content(placed: Placed, content: list[Block], *, spots: Iterable[Spot] | None = None) -> Placed:
    """Copy a placed envelope with other content; its raw content no longer counts.

    `spots` says where each block stood in the source; without it, the content has the same blocks in the same order.
    """
    envelope: MessageEnvelope = {**placed.envelope, "content": content}
    envelope.pop("raw_content", None)
    if spots is None:
        return placed.having(envelope)
    return Placed(envelope, placed.index, placed.turn, tuple(spots))


def _made_result(cause: Placed, call: Call) -> Placed:
    envelope: MessageEnvelope = {
        "v": cause.envelope["v"],
        "role": "tool",
        "content": [{"type": "text", "text": NO_RESULT}],
        "tool_call_id": call.id,
        "name": call.name,
        "status": "error",
        "extras": {"synthesized": True},
    }
    return Placed(envelope, cause.index, cause.turn)


def quoted(placed: Placed) -> Placed:
    """Make a user message that quotes a tool's result."""
    name = placed.envelope.get("name") or placed.envelope.get("tool_call_id") or "a tool"
    head: Block = {"type": "text", "text": f"Result of {name}:"}
    content = [head, *placed.envelope["content"]]
    envelope: MessageEnvelope = {"v": placed.envelope["v"], "role": "user", "content": content, "typed_by_user": False}
    if "origin" in placed.envelope:
        envelope["origin"] = placed.envelope["origin"]
    return Placed(envelope, placed.index, placed.turn, ((placed.index, 0), *placed.all_spots()))
