"""Codex files, import only: rollouts (`~/.codex/sessions`) and the stream of `codex exec --json`.

Owns the dialect's tables. Rollouts are read by `rollout.py`, with what it knows of items in `items.py`, of
turns in `turns.py` and of rollbacks in `rollbacks.py`; the stream by `exec.py`.

Source: codex-rs protocol (RolloutItem, ResponseItem) and exec_events, versions 0.1 to 0.65 and later.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from ...envelope.model import MessageEnvelope
from ...errors import MalformedHistoryError
from ..arguments import tell_repeated
from ..base import DeclaredLoss, Field, ImportOptions, Rule
from ..import_only import ImportOnly
from ..jsonl import BadLine, Line, first_objects, read_lines
from ..report import Report
from .exec import EVENTS, ExecReader
from .records import ROLLOUT, begins_bare, is_bare, is_record
from .rollout import NAME, RolloutReader
from .runs import RUNS

_SOURCE: Final = "codex-rs protocol"
_STREAMED: Final = (*EVENTS, *RUNS)


class Codex(ImportOnly):
    """The dialect; see the module docstring."""

    name = NAME
    title = "Codex rollouts and exec streams"
    providers = ("openai",)
    profiles: tuple[str, ...] = ()
    unreadable = "CX1"
    RULES: tuple[Rule, ...] = (
        Rule(id="CX1", text="a line that is no JSON object, or no readable item, is skipped", source=_SOURCE),
        Rule(
            id="CX2",
            text="events, contexts and metadata are no messages; keys that the API does not know are left out",
            source=_SOURCE,
        ),
        Rule(
            id="CX3",
            text="a compacted record replaces the history before it by its own, or else by the session's beginning, "
            "the user's messages and a summary; a session's instructions stay",
            source=_SOURCE,
        ),
        Rule(id="CX4", text="a turn may be aborted or fail; an exec stream does not hold its prompt", source=_SOURCE),
        Rule(
            id="CX5",
            text="thread_rolled_back takes the last turns back, with the compactions in them where the rollout records "
            "when turns start; context that Codex puts in the user's role begins none",
            source="codex-rs, context_manager/history.rs, rollout_reconstruction.rs; openai/codex #13615",
        ),
        Rule(
            id="CX6",
            text="the items of an exec stream count anew in each run, and a completed item is final; the first "
            "versions call its type item_type, and an answer assistant_message",
            source="codex-rs exec_events; openai/codex #4177, #4525",
        ),
        Rule(id="CX7", text="the first session_meta counts; a fork has its parent's too", source="openai/codex #11241"),
    )
    FIELD_MAP: tuple[Field, ...] = (
        Field(neutral="messages", native="response_item payloads, as in OpenAI Responses"),
        Field(neutral="origin.model", native="turn_context.model"),
        Field(neutral="created_at", native="timestamp"),
        Field(neutral="typed_by_user: false", native="environment, instructions and summaries in the user's role"),
        Field(neutral="extras.codex", native="author and recipient of agent_message, keys of an exec stream's items"),
        Field(neutral="artifact", native="metadata of an output; exit_code, structured_content, agents_states"),
        Field(neutral="tool_call shell, tool message", native="item command_execution", note="exec stream"),
        Field(
            neutral="tool_call apply_patch, update_plan, <server>__<tool>, spawn_agent, ...",
            native="file_change, todo_list, mcp_tool_call, collab_tool_call",
        ),
        Field(neutral="image, audio, file", native="content of mcp_tool_call's result", note="exec stream"),
        Field(neutral="server_tool_call", native="item web_search", note="exec stream"),
    )
    LOSSES: tuple[DeclaredLoss, ...] = (
        DeclaredLoss(rule="CX1", kind="dropped", when="a line or an item that cannot be read"),
        DeclaredLoss(rule="CX1", kind="downgraded", when="a repeated key, or a lone surrogate"),
        DeclaredLoss(rule="CX2", kind="dropped", when="lines that are no messages, and keys that only Codex knows"),
        DeclaredLoss(rule="CX3", kind="dropped", when="what a compaction replaced"),
        DeclaredLoss(
            rule="CX4", kind="unresolved", when="a turn that was aborted or failed, a prompt that is not there"
        ),
        DeclaredLoss(rule="CX5", kind="dropped", when="turns that the user took back, and the compactions in them"),
        DeclaredLoss(rule="CX6", kind="re-keyed", when="a call whose id an earlier run used"),
        DeclaredLoss(rule="CX7", kind="dropped", when="instructions of a later session_meta that differ"),
    )

    def parse(self, payload: Any, options: ImportOptions, report: Report) -> list[MessageEnvelope]:
        """Read a rollout or an exec stream: text, bytes, lines, or objects already read."""
        if not isinstance(payload, (str, bytes, list, dict)):
            raise MalformedHistoryError(NAME, [f"is {type(payload).__name__}, not line-delimited JSON"])
        lines = list(read_lines([payload] if isinstance(payload, dict) else payload))
        good = _good_lines(lines, report)
        if any(line.value.get("type") in _STREAMED for line in good):
            return ExecReader(options, report).envelopes(good)
        if not any(is_record(line.value) for line in good):
            bad = [f"line {line.number}: {line.reason}" for line in lines if isinstance(line, BadLine)]
            raise MalformedHistoryError(NAME, ["no line is a rollout's record or a stream's event", *bad])
        envelopes = RolloutReader(options, report).envelopes(good)
        tell_repeated(envelopes, report)
        return envelopes

    def recognises(self, payload: Any) -> float:
        """Records with a payload, events with a dotted type, and bare items behind a session's id are certain."""
        objects = first_objects(payload)
        if any(one.get("type") in ROLLOUT and isinstance(one.get("payload"), dict) for one in objects):
            return 0.97
        if any(one.get("type") in EVENTS for one in objects):
            return 0.97
        if not objects or not begins_bare(objects[0]):
            return 0.0
        return 0.98 if any(map(is_bare, objects)) else 0.5


def _good_lines(lines: Iterable[Line | BadLine], report: Report) -> list[Line]:
    good: list[Line] = []
    for line in lines:
        path = f"line {line.number}"
        if isinstance(line, BadLine):
            report.add("CX1", "dropped", action="skipped a line that cannot be read", path=path, detail=line.reason)
            continue
        good.append(line)
        for repair in line.repairs:
            report.add("CX1", "downgraded", action="mended a line", path=path, detail=repair)
    return good
