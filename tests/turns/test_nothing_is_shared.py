"""Whatever is handed out belongs to the caller: changing it changes nothing that is read later."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import fields, is_dataclass
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from langgraph_portable_checkpoint import export_thread
from langgraph_portable_checkpoint.dialects.registry import bundled_names, get_dialect
from tests.saver.checkpoints import config
from tests.saver.conftest import SaverFactory
from tests.turns.scenes import Talk, picture

CALL = {"name": "look_up", "args": {"where": ["here", {"deep": [1]}]}, "id": "call_1", "type": "tool_call"}
FACTS = {"model_name": "claude-sonnet-4-5", "model_provider": "anthropic", "stop_reason": "tool_use", "odd": [{}]}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
USE = {"type": "tool_use", "id": "call_1", "name": "look_up", "input": CALL["args"]}
LINES: list[BaseMessage] = [
    AIMessage([THOUGHT, USE], tool_calls=[deepcopy(CALL)], response_metadata=FACTS),
    ToolMessage([{"type": "text", "text": "found"}], tool_call_id="call_1", artifact={"rows": [[1]]}),
    AIMessage("the answer", additional_kwargs={"own": {"list": []}}),
]
WRITING = [name for name in bundled_names() if get_dialect(name).writes]


def _scramble(value: Any) -> None:
    """Change every container that can be reached from a value."""
    if isinstance(value, dict):
        for child in list(value.values()):
            _scramble(child)
        value["scrambled"] = True
    elif isinstance(value, list):
        for child in value:
            _scramble(child)
        value.append("scrambled")
    elif isinstance(value, tuple | set | frozenset):
        for child in value:
            _scramble(child)
    elif isinstance(value, BaseMessage):
        _scramble(value.__dict__)
    elif is_dataclass(value):
        for each in fields(value):
            _scramble(getattr(value, each.name))


READS: dict[str, Callable[[Any], Any]] = {
    "get_tuple": lambda saver: saver.get_tuple(config("t")),
    "list": lambda saver: list(saver.list(config("t"))),
    "turns": lambda saver: list(saver.turns("t")),
    "turns without media": lambda saver: list(saver.turns("t", media=False)),
    "derived turns": lambda saver: list(
        saver.turns("t", checkpoint_id=saver.get_tuple(config("t")).config["configurable"]["checkpoint_id"])
    ),
    "interrupted turn": lambda saver: saver.interrupted_turn("t"),
    "media": lambda saver: (list(saver.media_table("t")), saver.media_report("t")),
    **{
        f"{name}, media {media}": lambda saver, name=name, media=media: (
            export_thread(  # type: ignore[misc]  # bound now
                saver, "t", name, resolve_media=media
            ).payload
        )
        for name in WRITING
        for media in (True, False)
    },
}


@pytest.mark.parametrize("interrupted", [False, True])
def test_what_is_handed_out_may_be_changed(make_saver: SaverFactory, interrupted: bool) -> None:
    saver = make_saver()
    talk = Talk(saver, "t")
    talk.ask(picture("what is this?"), *deepcopy(LINES))
    if interrupted:
        with pytest.raises(RuntimeError):
            talk.ask(picture("and this?"), RuntimeError("broken"))
    for _ in range(2):
        for name, read in READS.items():
            before = {other: deepcopy(READS[other](saver)) for other in (name, "turns", "get_tuple")}
            _scramble(read(saver))
            for other, told in before.items():
                assert READS[other](saver) == told, (name, other)
