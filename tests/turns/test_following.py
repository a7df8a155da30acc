"""The turn log is the conversation at the head, whatever was done to it."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage

from tests.saver.conftest import SaverFactory
from tests.turns.scenes import SCENES, Talk, answered, calling, play, result, thread_id_of, tool_turn
from tests.turns.shapes import covered, head_of, outline, substance


@pytest.mark.parametrize("scene", SCENES)
def test_turns_cover_the_heads_messages_once_and_in_order(saver: Any, scene: str) -> None:
    talk = play(saver, [scene])[scene]
    assert covered(saver, thread_id_of(scene)) == [message.id for message in talk.messages]
    assert [turn.turn for turn in saver.turns(thread_id_of(scene))] == list(
        range(len(outline(saver, thread_id_of(scene))))
    )


@pytest.mark.parametrize("scene", SCENES)
def test_the_stored_log_says_what_the_function_derives_from_the_checkpoint(
    saver: Any, make_saver: SaverFactory, scene: str
) -> None:
    talk = play(saver, [scene])[scene]
    thread_id = thread_id_of(scene)
    stored = [substance(turn) for turn in saver.turns(thread_id)]
    derived = make_saver().turns(thread_id, checkpoint_id=head_of(talk))
    assert [substance(turn) for turn in derived] == stored


@pytest.mark.parametrize("scene", SCENES)
def test_a_process_per_run_leaves_the_same_log(make_saver: SaverFactory, saver: Any, scene: str) -> None:
    talk = play(saver, [scene])[scene]
    restarted = Talk(saver, f"restarted {scene}", renew=make_saver)
    SCENES[scene](restarted)
    assert [_shape(turn) for turn in saver.turns(f"restarted {scene}")] == [
        _shape(turn) for turn in saver.turns(thread_id_of(scene))
    ]
    assert len(covered(saver, f"restarted {scene}")) == len(talk.messages)
    assert covered(saver, f"restarted {scene}") == [message.id for message in restarted.messages]


def _shape(turn: Any) -> Any:
    return [turn.record[key] for key in ("status", "phase", "count", "question", "usage", "models")]


def test_removed_messages_stay_in_the_turns_of_the_checkpoint_that_holds_them(saver: Any) -> None:
    talk = play(saver, ["tools"])["tools"]
    thread_id = thread_id_of("tools")
    before, old_head = outline(saver, thread_id), head_of(talk)
    talk.update(*[RemoveMessage(id=message.id) for message in talk.messages[:10]])
    assert outline(saver, thread_id) == before[2:]
    assert outline(saver, thread_id, checkpoint_id=old_head) == before


def test_time_travel_moves_the_log_to_the_new_branch_and_the_old_one_can_be_read(saver: Any) -> None:
    talk = Talk(saver, "t")
    for number in range(3):
        talk.ask(f"q{number}", answered(f"a{number}"))
    old_head = head_of(talk)
    early = next(s for s in talk.graph.get_state_history(talk.config) if len(s.values["messages"]) == 2)
    talk.ask("other", answered("way"), config=early.config)
    assert outline(saver, "t") == [("complete", ["q0", "a0"]), ("complete", ["other", "way"])]
    assert [texts for _, texts in outline(saver, "t", checkpoint_id=old_head)] == [
        ["q0", "a0"],
        ["q1", "a1"],
        ["q2", "a2"],
    ]


def test_turns_that_did_not_change_keep_their_records_through_a_removal(saver: Any) -> None:
    talk = play(saver, ["tools"])["tools"]
    before = [turn.record for turn in saver.turns(thread_id_of("tools"))]
    talk.update(*[RemoveMessage(id=message.id) for message in talk.messages[5:10]])
    after = [turn.record for turn in saver.turns(thread_id_of("tools"))]
    assert after[0] == before[0]
    assert [{**record, "turn": None} for record in after[1:-1]] == [{**record, "turn": None} for record in before[2:-1]]


def test_a_message_replaced_in_place_changes_its_turn_alone(saver: Any) -> None:
    talk = play(saver, ["tools"])["tools"]
    before = [turn.record for turn in saver.turns(thread_id_of("tools"))]
    talk.update(AIMessage("better", id=talk.messages[4].id))
    after = [turn.record for turn in saver.turns(thread_id_of("tools"))]
    assert [record for record in after if record in before] == before[1:-1] + [r for r in after[-1:] if r in before]
    assert after[0]["messages"] != before[0]["messages"]


def test_update_state_of_another_channel_leaves_the_turns_alone(saver: Any) -> None:
    talk = play(saver, ["plain"])["plain"]
    before = outline(saver, thread_id_of("plain"))
    talk.update(note="n")
    assert outline(saver, thread_id_of("plain")) == before


def test_a_copied_thread_has_the_same_turns(saver: Any) -> None:
    play(saver, ["long"])
    saver.copy_thread("long", "copy")
    renamed = [{**substance(turn), "thread_id": "long"} for turn in saver.turns("copy")]
    assert renamed == [substance(turn) for turn in saver.turns("long")]


def test_a_deleted_thread_has_no_turns_and_a_new_one_starts_at_zero(saver: Any) -> None:
    play(saver, ["plain"])
    thread_id = thread_id_of("plain")
    saver.delete_thread(thread_id)
    assert outline(saver, thread_id) == []
    Talk(saver, thread_id).ask("anew", answered("yes"))
    assert outline(saver, thread_id) == [("complete", ["anew", "yes"])]


def test_pruning_keeps_the_turns_of_the_head(saver: Any) -> None:
    talk = play(saver, ["removed"])["removed"]
    before = outline(saver, "removed")
    saver.prune(["removed"])
    assert outline(saver, "removed") == before
    talk.ask("on", answered("and on"))
    assert outline(saver, "removed") == [*before, ("complete", ["on", "and on"])]


def test_deleting_the_last_run_leaves_the_turns_of_the_new_head(saver: Any) -> None:
    talk = Talk(saver, "t")
    talk.ask("one", answered("1"), config={**talk.config, "metadata": {"run_id": "first"}})
    talk.ask("two", answered("2"), config={**talk.config, "metadata": {"run_id": "second"}})
    saver.delete_for_runs(["second"])
    assert outline(saver, "t") == [("complete", ["one", "1"])]


def test_several_questions_in_a_row_are_one_turn(saver: Any) -> None:
    talk = Talk(saver, "t")
    talk.ask([HumanMessage("a"), HumanMessage("b")], answered("both"))
    (turn,) = saver.turns("t")
    assert turn.record["question"] == [0, 1]


def test_a_record_says_what_was_used_and_by_whom(saver: Any) -> None:
    talk = Talk(saver, "t")
    config = {**talk.config, "metadata": {"run_id": "run-7"}}
    talk.ask(
        "q", calling("a"), result("a"), answered("x", tokens=5), answered("y", model="m2", tokens=1), config=config
    )
    (turn,) = saver.turns("t")
    record = turn.record
    assert [(use["provider"], use["model"], use["requests"]) for use in record["models"]] == [
        ("openai", "gpt-test", 1),
        ("openai", "m2", 1),
    ]
    assert record["usage"] == {"input_tokens": 6, "output_tokens": 4, "total_tokens": 10}
    assert record["run_ids"] == ["run-7"]
    assert record["started_at"] < record["updated_at"]
    assert record["framework"]["name"] == "langgraph"
    assert record["checkpoint"] == {"ns": "", "id": head_of(talk)}


def test_thread_info_adds_turns_up(saver: Any) -> None:
    talk = Talk(saver, "t")
    for number in range(3):
        tool_turn(talk, number)
    info = saver.thread_info("t")
    assert (info.turns, info.status, info.totals["messages"], info.totals["requests"]) == (3, "complete", 15, 3)
    assert info.totals["usage"]["total_tokens"] == 27


def test_unknown_fields_of_a_record_survive_what_is_written_after_it(saver: Any, make_saver: SaverFactory) -> None:
    from langgraph_portable_checkpoint.envelope.turn_wire import dump_turn

    talk = Talk(saver, "t")
    talk.ask("q", calling("a"), result("a"), answered("x"))
    (turn,) = saver.turns("t")
    with make_saver.room.client() as client:
        client.hset(f"{make_saver.room.prefix}:1:{{t:t}}:turns", "0", dump_turn({**turn.record, "mood": "good"}))
    later = Talk(make_saver(), "t")
    later.update(AIMessage("one more"))
    later.ask("next", answered("y"))
    assert next(saver.turns("t")).record["mood"] == "good"
