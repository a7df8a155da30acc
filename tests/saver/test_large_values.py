"""Values that are large together: more than one argument of a script may hold, or than is worth being packed."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from langgraph_portable_checkpoint.storage.programs import core
from tests.saver.calls import Calls
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.saver.conftest import SaverFactory


def _values(size: int) -> dict[str, Any]:
    picture = {"type": "image", "mime_type": "image/png", "base64": "iVBORw0KGgo" + "A" * 4001}
    return {
        "text": "t" * size,
        "other": {"deep": ["o" * size]},
        "messages": [HumanMessage("m" * size, id="m"), HumanMessage([picture], id="p")],
    }


@pytest.mark.parametrize("size", [100, core.APART_BYTES // 3, core.APART_BYTES])
def test_large_values_come_back_beside_small_ones_and_media(
    make_any_saver: SaverFactory, calls: Calls, size: int
) -> None:
    saver, values = make_any_saver(), _values(size)
    versions = dict.fromkeys(values, 1)
    place = calls.put(saver, config("t"), checkpoint(values), metadata(), versions)
    calls.put_writes(saver, place, [("written", {"more": values["text"] + "!"}), *_values(size + 1).items()], "task")
    found = calls.get_tuple(make_any_saver(), place)
    assert found is not None
    assert found.checkpoint["channel_values"] == values
    assert found.pending_writes == [
        ("task", "written", {"more": values["text"] + "!"}),
        *(("task", name, value) for name, value in _values(size + 1).items()),
    ]


def test_items_over_the_limit_are_arguments_of_their_own(make_saver: SaverFactory) -> None:
    """One argument may have no more than 512 MiB, however many values a checkpoint has."""
    saver = make_saver()
    sent: list[int] = []
    client = saver._clients.calling()
    run = client.execute_command

    def counted(*args: Any, **options: Any) -> Any:
        sent.append(max(len(arg) for arg in args if isinstance(arg, bytes)))
        return run(*args, **options)

    client.execute_command = counted
    values = {str(number): f"{number}" * 200_000 for number in range(8)}
    saver.put(config("t"), checkpoint(values), metadata(), dict.fromkeys(values, 1))
    assert 199_000 < max(sent) < 210_000
