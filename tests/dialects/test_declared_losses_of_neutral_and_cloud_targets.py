"""Every loss that these dialects declare happens here once, and nothing is declared that cannot happen."""

from __future__ import annotations

from typing import Any

import pytest

from langgraph_portable_checkpoint.dialects.base import ExportOptions, ImportOptions
from langgraph_portable_checkpoint.dialects.normalise import normaliser_losses
from langgraph_portable_checkpoint.dialects.registry import get_dialect
from langgraph_portable_checkpoint.dialects.report import Report
from langgraph_portable_checkpoint.errors import IncompatibleHistoryError
from tests.dialects.exporting import export
from tests.dialects.histories import CLAUDE, PNG, assistant, call, image, message, result, system, text, thought, user
from tests.dialects.test_declared_losses import CASES, Case

GEMINI_2 = {"provider": "google", "api": "generate-content", "model": "gemini-2.5-pro"}
CONVERSE = {"provider": "bedrock", "api": "converse"}
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "google": [{}, {"profile": "vertex"}, {"model": "gemini-3-pro-preview"}, {"integration": True}],
    "bedrock": [{}, {"model": "meta.llama4"}],
    "agent-checkpoint": [{}],
    "otel": [{}],
    "langchain": [{}],
}
PDF = {"type": "file", "mime_type": "application/pdf", "data": b"%PDF", "filename": "a_b.pdf"}
ANSWER = {"name": "search", "id": "zz", "response": {"output": "r"}}
BROKEN_IMAGE = {"type": "image", "mime_type": "image/png", "base64": "%%%"}
NEW_PART = {"type": "non_standard", "value": {"newPart": {}}, "raw": {"newPart": {}}}
CITED = text("as it says", annotations=[{"type": "citation", "url": "https://example.com"}])
STEP = (user("hi"), assistant(call("c1"), origin=CLAUDE), result("c1"))

EXPORTS: dict[tuple[str, str, str], Case] = {
    ("google", "G6", "merged"): Case((user("hi"), assistant("I look"), assistant(call("c1")), result("c1"))),
    ("google", "G7", "merged"): Case(
        (
            user("hi"),
            assistant(call("a"), call("b")),
            *(message("tool", "1", tool_call_id=name, origin=GEMINI_2) for name in "ab"),
        )
    ),
    ("google", "G10", "synthesized"): Case(STEP),
    ("google", "G10", "downgraded"): Case(STEP, {"missing_signature": "text"}),
    ("google", "G10", "dropped"): Case(
        (user("hi"), assistant(text("ok", extras={"signature": "c2ln"}), origin=GEMINI_2)), {"model": "gemini-3-pro"}
    ),
    ("google", "G12", "dropped"): Case(STEP, {"profile": "vertex"}),
    ("google", "G1", "dropped"): Case((user("hi", " "),)),
    ("google", "G4", "dropped"): Case((user("hi"), assistant(CITED))),
    ("google", "G4", "unresolved"): Case((message("user", NEW_PART, text("hi"), origin=GEMINI_2),)),
    ("google", "G14", "synthesized"): Case((user({"type": "image", "url": "https://example.com/a"}),)),
    ("google", "G14", "unresolved"): Case((user(BROKEN_IMAGE),)),
    ("google", "G14", "dropped"): Case((user(PDF),)),
    ("google", "G8", "downgraded"): Case(
        (user("hi"), assistant({**call("c1"), "args": {"x": float("nan")}}), result("c1"))
    ),
    ("google", "G8", "dropped"): Case(
        (
            user("hi"),
            assistant(call("c1"), call("gemini_1_1"), origin=GEMINI_2),
            result("c1"),
            result("gemini_1_1", origin=GEMINI_2, raw_content={"parts": [{"functionResponse": ANSWER}]}),
        )
    ),
    ("google", "G2", "re-keyed"): Case(
        (user("hi"), message("assistant", text("ok"), origin=GEMINI_2, raw_content={"role": 5, "parts": []}))
    ),
    ("google", "G14", "downgraded"): Case(
        (user({**image(), "raw": {"inlineData": {"mimeType": 5, "data": "%"}}, "origin": GEMINI_2}),)
    ),
    ("otel", "O3", "dropped"): Case((message("user", text("hi", raw={"type": "text", "text": "hi", "hint": "warm"})),)),
    ("otel", "O4", "unresolved"): Case((message("user", text("hi"), extras={"otel": {"index": 1}}),)),
    ("otel", "O3", "downgraded"): Case((user("hi"), assistant({**call("c1"), "args": {"x": float("nan")}}))),
    ("langchain", "L1", "downgraded"): Case((user("hi"), assistant({**call("c1"), "args": {"x": float("nan")}}))),
    ("bedrock", "B6", "synthesized"): Case((user(PDF),)),
    ("bedrock", "B6", "re-keyed"): Case((user("see", PDF),)),
    ("bedrock", "B6", "dropped"): Case((user("see", image(base64=PNG, detail="low")),)),
    ("bedrock", "B6", "placeholder"): Case((user("see", *[image()] * 21),)),
    ("bedrock", "B6", "unresolved"): Case((user(BROKEN_IMAGE),)),
    ("bedrock", "B11", "synthesized"): Case((*STEP[:2], result("c1", "", status="error"))),
    ("bedrock", "B12", "downgraded"): Case(
        (user("hi"), assistant({**call("c1"), "args": {"x": float("nan")}}), result("c1"))
    ),
    ("bedrock", "B4", "dropped"): Case((user("hi"), assistant(CITED))),
    ("bedrock", "B4", "downgraded"): Case(
        (system(text("s", extras={"searchResult": {"title": "s", "content": []}})), user("hi"))
    ),
    ("agent-checkpoint", "AC5", "downgraded"): Case(
        (user("hi"), assistant({**call("c1"), "args": {"x": b"b"}}), result("c1"))
    ),
    ("agent-checkpoint", "AC5", "dropped"): Case((user("hi"), assistant(CITED))),
}
"""One history per loss that a renderer declares."""

MOVED = Case((user("hi"), assistant(call("a"), call("a")), user("?"), result("a"), result("a")))
FITTED: dict[tuple[str, str, str], Case] = {
    ("bedrock", "result_order", "reordered"): MOVED,
    ("agent-checkpoint", "result_order", "reordered"): MOVED,
    ("google", "call_id", "re-keyed"): Case(
        (user("hi"), assistant({"type": "tool_call", "name": "f", "args": {}}), message("tool", "1", name="f"))
    ),
    ("google", "repeated_call_id", "re-keyed"): Case(
        (user("hi"), assistant(call("a"), call("a")), result("a"), result("a"))
    ),
    **{
        (name, "tool_name", "re-keyed"): Case((user("hi"), assistant({"type": "tool_call", "id": "c", "args": {}})))
        for name in ("otel", "langchain")
    },
    ("google", "media", "placeholder"): Case((user({"type": "image", "url": "ftp://example.com/a.png"}),)),
    ("bedrock", "tool_media", "moved"): Case(
        (*STEP[:2], result("c1", {"type": "audio", "mime_type": "audio/mpeg", "base64": "AAAA"}))
    ),
}
"""Histories for concerns that the shared ones do not raise here."""
NEVER = {(name, "media", kind) for name in ("otel", "langchain") for kind in ("placeholder", "dropped", "downgraded")}
"""Neutral dialects take any medium, and miss only bytes that are not at hand."""

LINE = '{"role": "user", "content": "hi", "tool_calls": null, "tool_results": null'
_USE = {"type": "tool_use", "id": "t", "input": {}}
CODEX = '{"type": "response_item", "payload": {"type": "message", "role": "user", "content": "hi"}}'
SAID = '{"type": "user", "uuid": "u", "parentUuid": null, "message": {"role": "user", "content": "hi"}}'
IMPORTS: dict[tuple[str, str, str], Any] = {
    ("google", "G8", "unresolved"): [{"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]}],
    ("google", "G1", "dropped"): [{"role": "user", "parts": [{"text": "q"}]}, {"role": "model"}],
    ("bedrock", "B9", "unresolved"): [{"role": "user", "content": [{"toolResult": {"content": []}}]}],
    ("agent-checkpoint", "AC1", "downgraded"): LINE + ', "ts": "a", "ts": "b"}',
    ("agent-checkpoint", "AC3", "dropped"): [
        {"role": "tool", "content": "one", "tool_results": [{"tool_call_id": "c", "content": "other"}]}
    ],
    ("otel", "O3", "unresolved"): [{"role": "assistant", "parts": [{"type": "tool_call", "id": "c"}]}],
    ("langchain", "L2", "dropped"): [{"type": "human", "content": "q"}, {"type": "remove", "data": {"id": "x"}}],
    ("langchain", "L3", "merged"): [{"type": "AIMessageChunk", "content": part, "id": "a"} for part in ("Hel", "lo")],
    ("claude-code", "CC1", "dropped"): SAID + "\n{",
    ("claude-code", "CC1", "downgraded"): SAID.replace('"hi"', '"\\ud800"'),
    ("claude-code", "CC2", "dropped"): SAID + '\n{"type": "summary"}',
    ("claude-code", "CC3", "dropped"): SAID.replace('"u"', '"v"') + "\n" + SAID,
    ("claude-code", "CC4", "unresolved"): SAID.replace("null", '"gone"'),
    ("claude-code", "CC5", "dropped"): '{"type": "system", "uuid": "s"}\n' + SAID.replace("null", '"s"'),
    ("claude-code", "CC6", "dropped"): [
        {
            "type": "assistant",
            "uuid": str(at),
            "parentUuid": at and str(at - 1),
            "message": {"id": "m", "role": "assistant", "content": [_USE | {"name": str(at)}]},
        }
        for at in range(2)
    ],
    ("codex", "CX1", "dropped"): CODEX + "\n{",
    ("codex", "CX1", "downgraded"): CODEX.replace('"hi"', '"\\ud800"'),
    ("codex", "CX2", "dropped"): CODEX + '\n{"type": "event_msg", "payload": {}}',
    ("codex", "CX3", "dropped"): CODEX + '\n{"type": "compacted", "payload": {"message": "sum"}}',
    ("codex", "CX5", "dropped"): f"{CODEX}\n{CODEX}"
    '\n{"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}}',
    ("codex", "CX4", "unresolved"): CODEX + '\n{"type": "event_msg", "payload": {"type": "turn_aborted"}}',
    ("codex", "CX6", "re-keyed"): '{"type": "thread.started"}\n'.join(
        ["", *['{"type": "item.completed", "item": {"id": "item_0", "type": "todo_list"}}\n'] * 2]
    ),
    ("codex", "CX7", "dropped"): CODEX
    + "".join(f'\n{{"type": "session_meta", "payload": {{"instructions": "{said}"}}}}' for said in ("a", "b")),
    ("session-envelope", "S2", "unresolved"): {
        "version": 3,
        "media": [{"ref": "r"}],
        "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "$media:r"}}]}],
    },
    ("session-envelope", "S3", "unresolved"): {
        "version": 3,
        "metadata": {"interrupted_turn": {"message": "?"}},
        "messages": [{"role": "user", "content": "hi"}],
    },
}
"""One payload per loss that a parser declares."""


def losses(dialect: str, case: Case, **more: Any) -> set[tuple[str, str]]:
    try:
        _, report = export(get_dialect(dialect), case.history, **{**case.options, **more})
    except IncompatibleHistoryError:
        return set()
    return {(loss.rule, loss.kind) for loss in report}


@pytest.mark.parametrize("dialect", VARIANTS)
def test_each_loss_of_the_normaliser_happens(dialect: str) -> None:
    missing = set()
    for (concern, kind), shared in CASES.items():
        rule = get_dialect(dialect).target(ExportOptions()).rules.get(concern)
        case = FITTED.get((dialect, concern, kind), shared)
        if rule is not None and not any(
            (rule, kind) in losses(dialect, case, **variant) for variant in VARIANTS[dialect]
        ):
            missing.add((dialect, concern, kind))
    assert missing == {never for never in NEVER if never[0] == dialect}


@pytest.mark.parametrize(("dialect", "rule", "kind"), EXPORTS)
def test_each_loss_of_a_renderer_happens(dialect: str, rule: str, kind: str) -> None:
    assert (rule, kind) in losses(dialect, EXPORTS[dialect, rule, kind])


@pytest.mark.parametrize(("dialect", "rule", "kind"), IMPORTS)
def test_each_loss_of_a_parser_happens(dialect: str, rule: str, kind: str) -> None:
    report = Report(target=dialect)
    assert get_dialect(dialect).parse(IMPORTS[dialect, rule, kind], ImportOptions(), report)
    assert (rule, kind) in {(loss.rule, loss.kind) for loss in report}


def test_each_loss_that_is_declared_has_a_history() -> None:
    names = [*VARIANTS, "claude-code", "codex", "session-envelope"]
    declared = {(name, loss.rule, loss.kind) for name in names for loss in get_dialect(name).LOSSES}
    assert declared == EXPORTS.keys() | IMPORTS.keys()


@pytest.mark.parametrize("dialect", [*VARIANTS, "claude-code", "codex", "session-envelope"])
def test_each_rule_that_a_loss_names_is_documented(dialect: str) -> None:
    known = get_dialect(dialect)
    named = {loss.rule for loss in (*known.LOSSES, *normaliser_losses(known.target(ExportOptions())))}
    assert named - {"profile"} <= {rule.id for rule in known.RULES}


def test_messages_of_unknown_roles_and_later_instructions_are_told() -> None:
    history = (message("other", "hm", role_detail="critic"), user("hi"), assistant(thought(), "ok"), system("be brief"))
    assert losses("google", Case(history)) == {("G2", "downgraded"), ("G10", "dropped"), ("G14", "downgraded")}
