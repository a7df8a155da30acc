"""Commands about threads, on a real server."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from langgraph_portable_checkpoint import import_thread
from langgraph_portable_checkpoint.cli.quick import quick_threads
from langgraph_portable_checkpoint.cli.settings import Settings
from langgraph_portable_checkpoint.cli.threads import row_of
from langgraph_portable_checkpoint.saver import PortableRedisSaver
from tests.cli.conftest import ROOT, Cli
from tests.cli.threads import PNG, graph_on, talk
from tests.conftest import AclUser
from tests.servers import Room


def test_threads_lists_filters_sorts_and_pages(on_server: Cli, saver: PortableRedisSaver) -> None:
    for number in range(5):
        talk(saver, f"user-{number}", *["hi"] * (number + 1))
    talk(saver, "waiting", "wait")
    rows = on_server("threads", "--json", "--sort", "turns", "--reverse").lines
    assert [row["thread_id"] for row in rows][:2] == ["user-4", "user-3"]
    assert [row["turns"] for row in rows if row["thread_id"].startswith("user-")] == [5, 4, 3, 2, 1]
    assert [row["thread_id"] for row in on_server("threads", "--json", "--match", "user-[12]").lines] in (
        ["user-1", "user-2"],
        ["user-2", "user-1"],
    )
    assert [row["thread_id"] for row in on_server("threads", "--json", "--status", "interrupted").lines] == ["waiting"]
    pages = [
        on_server("threads", "--json", "--sort", "thread_id", "--limit", 4, "--page", page).lines for page in (1, 2, 3)
    ]
    assert [len(page) for page in pages] == [4, 2, 0]
    assert on_server("threads", "--json", "--before", "2000-01-01").lines == []
    assert len(on_server("threads", "--json", "--since", "2000-01-01").lines) == 6


def test_threads_in_a_pipe_are_tab_separated_lines_with_a_header(on_server: Cli, saver: PortableRedisSaver) -> None:
    talk(saver, "a\tb\x1b[31m", "hi")
    header, line = on_server("threads").out.splitlines()
    assert header.split("\t")[:2] == ["thread_id", "turns"]
    assert line.split("\t")[:2] == ["a\\tb\\x1b[31m", "1"]


def test_an_unknown_column_is_a_usage_error(on_server: Cli) -> None:
    assert on_server("threads", "--sort", "colour").code == 2


def test_show_tells_turns_status_models_tokens_and_media(on_server: Cli, saver: PortableRedisSaver) -> None:
    image = [{"type": "text", "text": "see"}, {"type": "image", "base64": PNG, "mime_type": "image/png"}]
    talk(saver, "t", "hi", image, "wait")
    ran = on_server("show", "t")
    assert ran.code == 0
    assert "3 turns, last interrupted" in ran.out
    assert "echo-1  12 tokens" in ran.out
    assert "see\\n[image image/png]" in ran.out
    assert 'waits      "Is this allowed?"' in ran.out
    last = on_server("show", "t", "--turn", "-1", "--json").json
    assert (last["turn"], last["status"], last["messages"][0]["text"]) == (2, "interrupted", "wait")
    raw = on_server("show", "t", "--raw").lines
    assert [turn["turn"] for turn in raw] == [0, 1, 2]
    assert raw[0]["envelopes"][1]["origin"]["model"] == "echo-1"
    assert PNG not in json.dumps(raw)


def test_show_of_another_checkpoint_shows_its_branch(on_server: Cli, saver: PortableRedisSaver) -> None:
    talk(saver, "t", "one", "two")
    graph = graph_on(saver)
    first_end = saver.checkpoint_of_turn("t", 0)
    graph.invoke({"messages": [HumanMessage("other")]}, first_end, durability="sync")
    head = on_server("show", "t", "--json").lines
    assert [turn["messages"][0]["text"] for turn in head] == ["one", "other"]
    assert "2 branches" in on_server("show", "t").out
    tree = on_server("checkpoints", "t", "--json").lines
    ends = {row["checkpoint_id"] for row in tree} - {row["parent_id"] for row in tree}
    (left,) = ends - {next(row["checkpoint_id"] for row in tree if row["head"])}
    shown = on_server("show", "t", "--checkpoint", left, "--json").lines
    assert [turn["messages"][0]["text"] for turn in shown] == ["one", "two"]
    drawn = on_server("checkpoints", "t").out.splitlines()
    assert len(drawn) == len(tree)
    assert sum(line.startswith("  * ") for line in drawn) == 3
    assert sum(line.endswith("head") for line in drawn) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "nobody"),
        ("show", "t", "--turn", "7"),
        ("show", "t", "--checkpoint", "nothing"),
        ("checkpoints", "nobody"),
        ("checkpoints", "t", "--ns", "nowhere"),
        ("stats", "nobody"),
        ("delete", "t", "nobody", "--yes"),
        ("copy", "nobody", "new"),
        ("prune", "nobody"),
        ("truncate", "nobody", "--turn", "0"),
        ("truncate", "t", "--turn", "7", "--yes"),
        ("persist", "nobody"),
        ("expire", "nobody", "--seconds", "5"),
        ("export", "nobody", "--to", "anthropic"),
        ("view", "nobody"),
        ("view", "t", "--checkpoint", "nothing"),
        ("show", "t", "--ns", "nowhere"),
        ("repair", "nobody", "--yes"),
        ("resume", "nobody", "--", "true"),
    ],
)
def test_what_is_not_there_is_said_in_one_line_with_its_exit_code(
    on_server: Cli, saver: PortableRedisSaver, arguments: tuple[str, ...]
) -> None:
    talk(saver, "t", "hi")
    ran = on_server(*arguments)
    assert (ran.code, ran.out) == (3, "")
    assert len(ran.err.splitlines()) == 1, ran.err
    assert saver.thread_info("t") is not None


def test_stats_add_up(on_server: Cli, saver: PortableRedisSaver) -> None:
    talk(saver, "small", "hi")
    talk(saver, "large", "x" * 10_000, "y" * 10_000)
    found = on_server("stats", "--json", "--top", 1).json
    each = {name: on_server("stats", name, "--json").json for name in ("small", "large")}
    assert found["threads"] == 2
    assert found["bytes"] == sum(one["bytes"] for one in each.values()) == sum(found["parts"].values())
    assert [row["thread_id"] for row in found["largest"]] == ["large"]
    assert each["large"]["bytes"] > 40_000
    assert "messages and values" in on_server("stats").out
    assert each["large"]["items"]["messages"] == 4
    assert "growth: " in on_server("stats", "large").out


def test_stats_are_summed_up_where_the_server_may_not_be_asked(acl_user: AclUser, cli: Cli) -> None:
    place = ("--redis-url", acl_user.url, "--prefix", acl_user.room.prefix)
    with PortableRedisSaver.from_url(acl_user.url, prefix=acl_user.room.prefix) as own:
        talk(own, "t", "x" * 10_000)
    for arguments in (("stats", "t"), ("stats",)):
        ran = cli(*arguments, *place, "--json")
        assert (ran.code, ran.json["measured"], ran.json["turns"]) == (0, False, 1), ran.err
        assert ran.json["bytes"] > 20_000


def test_delete_says_what_goes_and_needs_a_yes(on_server: Cli, saver: PortableRedisSaver) -> None:
    talk(saver, "t", "hi")
    talk(saver, "u", "hi")
    assert on_server("delete", "t", "u", "--dry-run").code == 0
    refused = on_server("delete", "t", "u")
    assert refused.code == 2
    assert "--yes" in refused.err
    assert saver.thread_info("t") is not None
    done = on_server("delete", "t", "u", "--yes", "--json")
    assert [row["thread_id"] for row in done.lines] == ["t", "u"]
    assert saver.thread_info("t") is saver.thread_info("u") is None


def test_copy_refuses_a_thread_that_is_there(on_server: Cli, saver: PortableRedisSaver) -> None:
    talk(saver, "t", "hi")
    assert on_server("copy", "t", "new").code == 0
    assert on_server("copy", "t", "new").code == 6
    assert on_server("diff", "t", "new", "--thread").out == "identical\n"


def test_prune_keeps_the_conversation(on_server: Cli, saver: PortableRedisSaver) -> None:
    talk(saver, "t", "one", "two")
    dry = on_server("prune", "t", "--dry-run", "--json").json
    assert (dry["removed"], dry["kept"]) == (5, 1)
    assert len(on_server("checkpoints", "t", "--json").lines) == 6
    assert on_server("prune", "t").code == 2
    assert on_server("prune", "t", "--yes").code == 0
    assert len(on_server("checkpoints", "t", "--json").lines) == 1
    assert [turn.turn for turn in saver.turns("t")] == [0, 1]


def test_expire_and_persist_set_how_long_a_thread_lives(on_server: Cli, saver: PortableRedisSaver) -> None:
    talk(saver, "t", "hi")
    assert on_server("expire", "t", "--seconds", 100).code == 0
    info = saver.thread_info("t")
    assert info is not None
    assert info.ttl_seconds is not None
    assert 90 < info.ttl_seconds <= 100
    assert on_server("persist", "t").code == 0
    info = saver.thread_info("t")
    assert info is not None
    assert (info.ttl_seconds, info.persistent) == (None, True)
    assert on_server("expire", "t").code == 2


def test_a_history_travels_through_a_thread(
    on_server: Cli, saver: PortableRedisSaver, corpus: Path, tmp_path: Path
) -> None:
    source = min((corpus / "anthropic").glob("*tools*history.json"))
    assert on_server("import", source, "--thread", "t").code == 0
    back = tmp_path / "back.json"
    ran = on_server("export", "t", "--to", "anthropic", "-o", back, "--report", tmp_path / "losses.jsonl")
    assert ran.code == 0, ran.err
    assert on_server("diff", source, back).code == 0
    again = on_server("import", source, "--thread", "t")
    assert again.code == 6
    assert on_server("import", source, "--thread", "t", "--on-existing", "overwrite").code == 0


def test_an_import_under_strict_stores_nothing_of_a_lossy_history(
    on_server: Cli, saver: PortableRedisSaver, tmp_path: Path
) -> None:
    lossy = tmp_path / "lossy.json"
    lossy.write_text('[{"role": "user", "content": "a\\ud800b"}, {"role": "assistant", "content": "yes"}]')
    ran = on_server("import", lossy, "--thread", "t", "--strict")
    assert ran.code == 1
    assert saver.thread_info("t") is None


def test_an_export_under_strict_writes_nothing_when_lossy(
    on_server: Cli, saver: PortableRedisSaver, tmp_path: Path
) -> None:
    talk(saver, "t", "hi")
    graph = graph_on(saver)
    call: dict[str, Any] = {"role": "assistant", "content": "", "tool_calls": [{"name": "f", "args": {}, "id": "c1"}]}
    graph.update_state({"configurable": {"thread_id": "t"}}, {"messages": [{"role": "user", "content": "q"}, call]})
    out = tmp_path / "out.json"
    assert on_server("export", "t", "--to", "openai-chat", "-o", out, "--strict").code == 1
    assert not out.exists()
    assert on_server("export", "t", "--to", "openai-chat", "-o", out).code == 0
    assert [message["role"] for message in json.loads(out.read_text())["messages"]] == ["user", "assistant"]


def test_view_shows_threads_whose_models_told_no_usage(on_server: Cli, saver: PortableRedisSaver) -> None:
    import_thread(saver, "t", {"messages": [{"role": "user", "content": "hello"}]}, "openai-chat")
    ran = on_server("view", "t")
    assert (ran.code, ran.err) == (0, "")
    assert "hello" in ran.out
    assert "tokens" not in ran.out


def test_view_escapes_everything_and_reaches_nowhere(on_server: Cli, saver: PortableRedisSaver, tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script><img src=https://example.org/x>"
    talk(saver, f"t{hostile}", hostile, [{"type": "image", "base64": PNG, "mime_type": "image/png"}])
    page = tmp_path / "page.html"
    assert on_server("view", f"t{hostile}", "-o", page).code == 0
    text = page.read_text()
    assert "<script" not in text
    assert "<img src=https" not in text
    assert text.count("<img ") == 1
    assert f'src="data:image/png;base64,{PNG}"' in text
    assert "default-src 'none'" in text


def test_no_control_character_of_a_conversation_reaches_the_terminal(on_server: Cli, saver: PortableRedisSaver) -> None:
    talk(saver, "t", "\x1b]0;owned\x07\x1b[2J\u202edesrever\x9b31m")
    for arguments in (("show", "t"), ("show", "t", "--turn", "0"), ("show", "t", "--json"), ("show", "t", "--raw")):
        out = on_server(*arguments).out
        assert "owned" in out
        assert not set(out) & set("\x1b\x07\x9b\u202e"), arguments


def test_the_quick_way_to_a_page_says_what_the_saver_says(
    server: Room, saver: PortableRedisSaver, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(saver, "t", "one", "two")
    talk(saver, "wäit", "wait")
    saver.expire("wäit", 1000)
    settings = Settings(redis_url=server.url, prefix=server.prefix)
    for url in (server.url, f"redis://127.0.0.1:{server.server.port}/0"):
        quick = quick_threads(replace(settings, redis_url=url), list)
        assert quick is not None
        slow = [row_of(info) for info in saver.threads()]
        for row in (*quick, *slow):
            assert row.pop("ttl_seconds") is None or row["thread_id"] == "wäit"
        assert quick == slow
    monkeypatch.setenv("LANGGRAPH_AES_KEY", "0123456789abcdef")
    with replace(settings, encrypted=True).open() as sealed:
        talk(sealed, "sealed", "secret")
        assert quick_threads(settings, list) is None
        assert quick_threads(replace(settings, encrypted=True), list) is None
    for left in (f"{server.url}?db=0", "rediss://127.0.0.1", "redis://127.0.0.1:1", "redis://:no@127.0.0.1:1"):
        assert quick_threads(replace(settings, redis_url=left), list) is None


def test_a_page_of_threads_is_read_without_anything_heavy(server: Room, saver: PortableRedisSaver) -> None:
    talk(saver, "t", "one")
    arguments = ["threads", "--json", "--redis-url", server.url, "--prefix", server.prefix]
    code = (
        f"import sys; from langgraph_portable_checkpoint.cli.app import run; run({arguments}); print(list(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    row, modules = shown.splitlines()
    assert json.loads(row)["thread_id"] == "t"
    assert {name.partition(".")[0] for name in re.findall(r"'([\w.]+)'", modules)} & {
        "langgraph",
        "redis",
        "rich",
    } == set()


def test_truncate_starts_again_from_a_turn_and_destroys_nothing(on_server: Cli, saver: PortableRedisSaver) -> None:
    talk(saver, "t", "one", "two", "wait")
    before = on_server("checkpoints", "t", "--json").lines
    assert on_server("truncate", "t", "--turn", 1).code == 2
    ran = on_server("truncate", "t", "--turn", 1, "--yes", "--json")
    assert ran.code == 0, ran.err
    assert [turn["messages"][0]["text"] for turn in on_server("show", "t", "--json").lines] == ["one"]
    after = on_server("checkpoints", "t", "--json").lines
    assert [row["checkpoint_id"] for row in after][:-1] == [row["checkpoint_id"] for row in before]
    assert after[-1]["checkpoint_id"] == ran.json["head"]
    state = graph_on(saver).get_state({"configurable": {"thread_id": "t"}})
    assert state.next == ()
    talk(saver, "t", "other")
    assert [turn["messages"][0]["text"] for turn in on_server("show", "t", "--json").lines] == ["one", "other"]
    assert on_server("verify", "t").code == 0


def test_truncate_cuts_a_history_that_came_in_one_piece(
    on_server: Cli, saver: PortableRedisSaver, tmp_path: Path
) -> None:
    said = [{"role": role, "content": f"{role} {turn}"} for turn in range(3) for role in ("user", "assistant")]
    (tmp_path / "h.json").write_text(json.dumps(said))
    assert on_server("import", tmp_path / "h.json", "--thread", "t").code == 0
    assert on_server("truncate", "t", "--turn", "-1", "--yes").code == 0
    assert [turn["messages"][1]["text"] for turn in on_server("show", "t", "--json").lines] == [
        "assistant 0",
        "assistant 1",
    ]
