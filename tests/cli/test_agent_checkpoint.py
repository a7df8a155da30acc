"""save, resume, diff and merge: what the published tool does, on files of either."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from agent_checkpoint import cli as published
from agent_checkpoint.format import read_jsonl, write_jsonl

from langgraph_portable_checkpoint.saver import PortableRedisSaver
from tests.cli.conftest import ROOT, Cli, process, start
from tests.cli.threads import talk

CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
TRANSCRIPT: list[dict[str, Any]] = [
    {"role": "user", "content": "What is the capital of France?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "Paris"},
    {"role": "assistant", "content": "Paris, süß."},
]
MID_TURN = [
    *TRANSCRIPT,
    {"role": "user", "content": "And Italy?"},
    {"role": "assistant", "content": None, "tool_calls": [{**CALL, "id": "c2"}]},
]
ECHO = [sys.executable, "-c", "import os; print(os.environ['AGENT_CHECKPOINT_INIT'])"]


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    path = tmp_path / "transcript.json"
    path.write_text(json.dumps(MID_TURN))
    return path


@pytest.fixture
def checkpoint(cli: Cli, transcript: Path, tmp_path: Path) -> Path:
    path = tmp_path / "checkpoint.jsonl"
    assert cli("save", transcript, "-o", path).code == 0
    return path


def published_exit(*arguments: object) -> int:
    try:
        published.main([str(argument) for argument in arguments])
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return 0


def lines_of(path: Path) -> list[dict[str, Any]]:
    return list(read_jsonl(path))


def test_save_ends_at_the_last_complete_turn_and_says_so(cli: Cli, transcript: Path, tmp_path: Path) -> None:
    ran = cli("save", transcript, "-o", tmp_path / "c.jsonl")
    assert ran.code == 0
    assert "Saved 4 messages of openai-chat" in ran.err
    assert "c2" in ran.err
    assert ran.out == ""
    assert [line["role"] for line in lines_of(tmp_path / "c.jsonl")] == ["user", "assistant", "tool", "assistant"]


def test_save_under_strict_writes_nothing_when_something_would_be_lost(
    cli: Cli, transcript: Path, tmp_path: Path
) -> None:
    ran = cli("save", transcript, "-o", tmp_path / "c.jsonl", "--strict", "--report", tmp_path / "losses.jsonl")
    assert ran.code == 1
    assert not (tmp_path / "c.jsonl").exists()
    assert {loss["rule"] for loss in lines_of(tmp_path / "losses.jsonl")} == {"AC4"}


def test_save_takes_every_import_dialect_of_the_corpus(cli: Cli, corpus: Path, tmp_path: Path) -> None:
    for pattern in ("anthropic/*history.json", "claude_code/*.jsonl", "codex/*.jsonl", "gemini/*history.json"):
        source = min(corpus.glob(pattern))
        ran = cli("save", source, "-o", tmp_path / "c.jsonl", "--json")
        assert ran.code == 0, (source, ran.err)
        assert ran.json["messages"] == len(lines_of(tmp_path / "c.jsonl")) > 0


def test_the_published_tool_resumes_from_our_checkpoint_and_we_from_its(
    cli: Cli, checkpoint: Path, tmp_path: Path
) -> None:
    (tmp_path / "t.json").write_text(json.dumps(TRANSCRIPT))
    theirs = tmp_path / "theirs.jsonl"
    assert published_exit("save", tmp_path / "t.json", "-o", theirs) == 0
    assert published_exit("diff", checkpoint, theirs) == 0
    assert cli("diff", checkpoint, theirs).code == 0
    for path in (checkpoint, theirs):
        seeded = process("resume", path, "--", sys.executable, "examples/seed_openai.py", "More?", "--print-request")
        assert seeded.code == 0, seeded.err
        tool = [sys.executable, "-m", "agent_checkpoint.adapters.openai_minimal", "More?", "--print-request"]
        own = subprocess.run(
            tool, env={**os.environ, "AGENT_CHECKPOINT_INIT": str(path)}, capture_output=True, text=True
        )
        assert without_nulls(seeded.json["messages"]) == without_nulls(json.loads(own.stdout)["messages"])


def without_nulls(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in message.items() if value is not None} for message in messages]


def test_a_langgraph_thread_is_seeded_from_a_checkpoint(checkpoint: Path, tmp_path: Path) -> None:
    adapter = [sys.executable, "examples/seed_langgraph.py", "More?", "--data", str(tmp_path / "data")]
    ran = process("resume", checkpoint, "--", *adapter, cwd=ROOT)
    assert ran.code == 0, ran.err
    assert ran.out.startswith("6 messages")


@pytest.mark.parametrize("name", ["seed_openai.py", "seed_langgraph.py"])
def test_reference_adapters_stay_under_fifty_lines(name: str) -> None:
    assert len((ROOT / "examples" / name).read_text().splitlines()) < 50


def test_resume_gives_an_absolute_path_and_the_commands_exit_code(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = process("resume", checkpoint.name, "--", *ECHO, cwd=checkpoint.parent)
    assert (ran.code, ran.out.strip()) == (0, str(checkpoint))
    assert process("resume", checkpoint, "--", "sh", "-c", "exit 7").code == 7
    assert process("resume", checkpoint, "--", "sh", "-c", "kill -9 $$").code == 128 + 9


def test_resume_of_a_thread_gives_it_as_a_file_while_the_command_runs(
    on_server: Cli, saver: PortableRedisSaver, tmp_path: Path
) -> None:
    talk(saver, "t", "hi")
    copy = tmp_path / "copy.jsonl"
    assert (
        on_server(
            "resume",
            "t",
            "--",
            "sh",
            "-c",
            f"cp $AGENT_CHECKPOINT_INIT {copy}; echo $AGENT_CHECKPOINT_INIT > {copy}.name",
        ).code
        == 0
    )
    assert [line["content"] for line in lines_of(copy)] == ["hi", "echo hi"]
    assert not Path((tmp_path / "copy.jsonl.name").read_text().strip()).exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_resume_passes_signals_on(checkpoint: Path, number: signal.Signals) -> None:
    waiter = (
        "import signal, sys, time\n"
        f"signal.signal({int(number)}, lambda *_: sys.exit(42))\n"
        "print('ready', flush=True)\n"
        "time.sleep(60)"
    )
    with start("resume", checkpoint, "--", sys.executable, "-c", waiter) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        running.send_signal(number)
        assert running.wait(timeout=30) == 42


def test_resume_says_when_a_command_cannot_be_run(cli: Cli, checkpoint: Path, tmp_path: Path) -> None:
    assert cli("resume", checkpoint, "--", "no-such-command-at-all").code == 127
    assert cli("resume", checkpoint, "--", tmp_path).code == 126
    assert cli("resume", checkpoint).code == 2


def test_resume_refuses_a_file_that_is_no_checkpoint(cli: Cli, transcript: Path, tmp_path: Path) -> None:
    ran = cli("resume", transcript, "--", "touch", tmp_path / "ran")
    assert ran.code == 2
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        ({}, 0, "identical"),
        ({"provider": "other", "model": "m", "ts": "2020-01-01T00:00:00Z"}, 0, "identical"),
        ({"content": "Rome."}, 1, "turn[3]: content differs"),
        ({"role": "user"}, 1, "turn[3]: role differs"),
    ],
)
def test_diff_ignores_when_and_by_whom_and_sees_what_was_said(
    cli: Cli, checkpoint: Path, change: dict[str, Any], code: int, said: str
) -> None:
    other = checkpoint.with_name("other.jsonl")
    *first, last = lines_of(checkpoint)
    write_jsonl(other, [*first, {**last, **change}])
    ran = cli("diff", checkpoint, other)
    assert (ran.code, said in ran.out) == (code, True)
    assert published_exit("diff", checkpoint, other) == code


def test_diff_as_json_has_the_published_tools_keys(
    cli: Cli, checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shorter = checkpoint.with_name("shorter.jsonl")
    write_jsonl(shorter, lines_of(checkpoint)[:-1])
    ours = cli("diff", checkpoint, shorter, "-f", "json").json
    published_exit("diff", checkpoint, shorter, "-f", "json")
    assert ours == json.loads(capsys.readouterr().out)


def test_diff_sees_no_difference_between_two_providers_spellings(cli: Cli, checkpoint: Path) -> None:
    native = checkpoint.with_name("anthropic.json")
    assert cli("convert", checkpoint, "--to", "anthropic", "-o", native).code == 0
    assert cli("diff", checkpoint, native).code == 0


@pytest.mark.parametrize("bad", ["nothing.jsonl", "empty.jsonl", "broken.jsonl"])
def test_diff_answers_trouble_with_two(cli: Cli, checkpoint: Path, bad: str) -> None:
    checkpoint.with_name("empty.jsonl").write_text("")
    checkpoint.with_name("broken.jsonl").write_text('{"role": "user", "conte')
    ran = cli("diff", checkpoint, checkpoint.with_name(bad))
    assert ran.code == 2
    assert len(ran.err.splitlines()) == 1


def test_diff_answers_a_server_that_is_down_with_two_as_well(cli: Cli, checkpoint: Path) -> None:
    assert cli("diff", checkpoint, "some-thread", "--redis-url", "unix:///nowhere/at/all.sock").code == 2


def grown(checkpoint: Path, *added: dict[str, Any]) -> Path:
    path = checkpoint.with_name("grown.jsonl")
    empty = dict.fromkeys(("content", "tool_calls", "tool_results", "provider", "model", "ts"))
    write_jsonl(path, [*lines_of(checkpoint), *({**empty, **line} for line in added)])
    return path


def test_merge_is_what_the_published_tool_merges(cli: Cli, checkpoint: Path) -> None:
    more = grown(checkpoint, {"role": "user", "content": "More."}, {"role": "assistant", "content": "Yes."})
    ours, theirs = checkpoint.with_name("ours.jsonl"), checkpoint.with_name("theirs.jsonl")
    assert cli("merge", checkpoint, more, "-o", ours).code == 0
    assert published_exit("merge", checkpoint, more, "-o", theirs) == 0
    assert [one["_meta"]["source"] for one in lines_of(ours)] == ["a"] * 4 + ["b"] * 2
    assert [(one["role"], one["content"], one["_meta"]["source"]) for one in lines_of(ours)] == [
        (one["role"], one["content"], one["_meta"]["source"]) for one in lines_of(theirs)
    ]


def test_merge_reports_two_results_of_one_call_and_writes_one(cli: Cli, checkpoint: Path) -> None:
    other, out = checkpoint.with_name("other.jsonl"), checkpoint.with_name("out.jsonl")
    changed = lines_of(checkpoint)
    changed[2] = {**changed[2], "content": "Lyon", "tool_results": [{"tool_call_id": "c1", "content": "Lyon"}]}
    write_jsonl(other, changed)
    ran = cli("merge", checkpoint, other, "-o", out, "--json")
    assert ran.json["conflicts"] == ["c1"]
    assert "c1" in ran.err
    assert [line["content"] for line in lines_of(out) if line["role"] == "tool"] == ["Paris"]


def test_merge_never_writes_a_dangling_call(cli: Cli, checkpoint: Path) -> None:
    dangling = {"role": "assistant", "tool_calls": [{**CALL, "id": "c9"}]}
    more = grown(checkpoint, {"role": "user", "content": "More."}, dangling)
    out = checkpoint.with_name("out.jsonl")
    ran = cli("merge", more, checkpoint, "-o", out, "--json")
    assert ran.json["dropped"] == 1
    assert "c9" not in out.read_text()


def test_merge_knows_a_message_in_the_published_tools_other_spelling(cli: Cli, corpus: Path, tmp_path: Path) -> None:
    theirs, ours, out = (tmp_path / name for name in ("theirs.jsonl", "ours.jsonl", "out.jsonl"))
    merges = 0
    for session in sorted((corpus / "claude_code").glob("*.jsonl")):
        if published_exit("save", session, "-o", theirs) or cli("save", session, "-o", ours).code:
            continue  # one of the two finds no conversation in it
        merged = cli("merge", theirs, ours, "-o", out, "--json").json
        assert (merged["from_b"], merged["conflicts"]) == (0, []), session.name
        merges += merged["messages"] > 0
    assert merges > 2


def test_merge_keeps_what_is_said_twice_on_purpose(cli: Cli, checkpoint: Path) -> None:
    twice = [{"role": "user", "content": "Go on."}, {"role": "assistant", "content": "..."}] * 2
    out = checkpoint.with_name("out.jsonl")
    assert cli("merge", checkpoint, grown(checkpoint, *twice), "-o", out).code == 0
    assert [line["content"] for line in lines_of(out)[4:]] == ["Go on.", "..."] * 2


def test_a_file_that_cannot_be_written_leaves_nothing_behind(cli: Cli, checkpoint: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    for target in (tmp_path / "no" / "such" / "folder.jsonl", tmp_path):
        ran = cli("merge", checkpoint, checkpoint, "-o", target)
        assert ran.code in (2, 4)
        assert len(ran.err.splitlines()) == 1
    assert sorted(tmp_path.iterdir()) == before
