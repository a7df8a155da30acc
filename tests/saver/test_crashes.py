"""Many writers at once, clients and servers killed at any moment: what was acknowledged is there, and whole."""

from __future__ import annotations

import multiprocessing
import random
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from langgraph_portable_checkpoint import errors
from tests.saver.calls import Calls
from tests.saver.checkpoints import chain, checkpoint, config, metadata
from tests.saver.conftest import SaverFactory
from tests.servers import Server


def test_fifty_tasks_writing_to_one_checkpoint_lose_nothing(saver: Any, make_saver: SaverFactory, calls: Calls) -> None:
    (put,) = chain(calls, saver, "t", 1)
    batches = [
        (put, [("n", (task, number)) for number in range(10)], f"task {task:02}", f"path {task % 7}")
        for task in range(50)
    ]
    calls.gather(saver, "put_writes", batches)
    found = calls.get_tuple(make_saver(), config("t"))
    assert found is not None
    expected = [
        (task_id, "n", list(value)) for _, writes, task_id, path in sorted(batches, key=_order) for _, value in writes
    ]
    assert found.pending_writes == expected


def _order(batch: Any) -> tuple[str, str]:
    return batch[3], batch[2]


def test_puts_at_the_same_time_on_one_thread_are_all_there(saver: Any, make_saver: SaverFactory, calls: Calls) -> None:
    """Runs that race on a thread fork it; no checkpoint of either may lose a message."""
    (root,) = chain(calls, saver, "t", 1)
    puts = [
        (
            root,
            checkpoint({"messages": [HumanMessage(f"{number}.{index}") for index in range(40)]}),
            {},
            {"messages": number},
        )
        for number in range(30)
    ]
    calls.gather(saver, "put", puts)
    fresh = make_saver()
    for number, (_, made, *_) in enumerate(puts):
        found = calls.get_tuple(fresh, config("t", made["id"]))
        assert found is not None
        assert [message.content for message in found.checkpoint["channel_values"]["messages"]] == [
            f"{number}.{index}" for index in range(40)
        ]
    assert len(calls.list(fresh, config("t"))) == 31


def test_first_puts_of_many_clients_make_one_thread(make_saver: SaverFactory, calls: Calls) -> None:
    savers = [make_saver() for _ in range(8)]
    made = [checkpoint({"messages": [HumanMessage(str(number))]}) for number in range(8)]
    threads = [
        threading.Thread(target=saver.put, args=(config("t"), each, {}, {"messages": 1}))
        for saver, each in zip(savers, made, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = {
        each.checkpoint["id"]: each.checkpoint["channel_values"]["messages"][0].content for each in savers[0].list(None)
    }
    assert found == {each["id"]: str(number) for number, each in enumerate(made)}


def values_of(step: int) -> dict[str, Any]:
    """Return the state after `step`: a list that grows, and values that must all be of the same step."""
    messages = [HumanMessage(f"message {number} " * 30, id=str(number)) for number in range(step + 1)]
    return {"messages": messages, "step": step, "blob": {"step": step, "data": [step] * 50}}


def write_forever(saver: Any, told: Callable[[str], None]) -> None:
    """Put checkpoint after checkpoint, each with writes, and tell what was acknowledged."""
    place, step = config("t"), 0
    while True:
        values = values_of(step)
        versions = dict.fromkeys(values, step + 1)
        made = checkpoint(values, versions, checkpoint_id=f"{step:06}")
        place = saver.put(place, made, metadata(step), versions)
        told(f"put {step}")
        saver.put_writes(place, [("messages", values["messages"][-1:]), ("step", step)], "task")
        told(f"writes {step}")
        step += 1


def check_whole(saver: Any, last: str) -> None:
    """All that was acknowledged is there; of the rest either all or nothing."""
    what, number = last.split() if last else ("put", "-1")
    acknowledged = int(number)
    found = list(saver.list(config("t")))
    steps = [each.checkpoint["channel_values"]["step"] for each in found]
    assert steps == list(range(len(found)))[::-1]
    assert len(found) in (acknowledged + 1, acknowledged + 2)
    for each in found:
        step = each.metadata["step"]
        assert each.checkpoint["channel_values"] == values_of(step)
        writes = each.pending_writes or []
        assert (
            len(writes) == 2
            if step < acknowledged or (step == acknowledged and what == "writes")
            else len(writes) in (0, 2)
        )


def _child(url: str, prefix: str, acknowledged: Any) -> None:
    from langgraph_portable_checkpoint import PortableRedisSaver

    write_forever(PortableRedisSaver.from_url(url, prefix=prefix), acknowledged.send)


def test_killed_client_leaves_what_was_acknowledged_and_nothing_half(make_saver: SaverFactory) -> None:
    context = multiprocessing.get_context("fork")
    moments = random.Random(7)
    for attempt in range(10):
        prefix = f"{make_saver.room.prefix}-{attempt}"
        receiver, sender = context.Pipe(duplex=False)
        child = context.Process(target=_child, args=(make_saver.room.url, prefix, sender))
        child.start()
        sender.close()
        assert receiver.poll(30)
        time.sleep(moments.uniform(0.0, 0.1))
        child.kill()
        child.join()
        check_whole(make_saver(prefix=prefix), _last(receiver))


def _last(receiver: Any) -> str:
    last = ""
    while True:
        try:
            last = receiver.recv()
        except EOFError:
            return last


def test_killed_server_with_synchronous_log_keeps_what_was_acknowledged(
    make_saver: SaverFactory, durable_server: Server
) -> None:
    moments = random.Random(7)
    for attempt in range(5):
        prefix, acknowledged = f"run-{attempt}", [""]
        saver = make_saver(durable_server.url, prefix=prefix)
        ended: list[BaseException] = []
        writer = threading.Thread(target=_until_the_server_dies, args=(saver, acknowledged, ended))
        writer.start()
        time.sleep(moments.uniform(0.05, 0.2))
        durable_server.kill()
        writer.join()
        assert [type(error) for error in ended] == [errors.ServerUnavailableError]
        durable_server.restart()
        check_whole(make_saver(durable_server.url, prefix=prefix), acknowledged[-1])


def _until_the_server_dies(saver: Any, acknowledged: list[str], ended: list[BaseException]) -> None:
    try:
        write_forever(saver, acknowledged.append)
    except errors.PortableCheckpointError as error:
        ended.append(error)


@pytest.mark.parametrize("cut", [1, 50, 200, 400, 700, 1000, 1500])
@pytest.mark.parametrize("name", ["put", "put_writes"])
def test_request_cut_in_the_middle_changes_nothing(
    make_saver: SaverFactory, proxy: Any, calls: Calls, name: str, cut: int
) -> None:
    place = chain(calls, make_saver(), "t", 2)[-1]
    saver = make_saver(proxy.url)
    assert calls.get_tuple(saver, place) is not None
    values = values_of(3)
    args: Any = {
        "put": (place, checkpoint(values), metadata(9), dict.fromkeys(values, 9)),
        "put_writes": (place, [*values.items()], "task"),
    }[name]
    proxy.fault.cut_after_bytes = cut
    with pytest.raises(errors.ServerUnavailableError):
        calls.run(saver, name, *args)
    found = calls.list(make_saver(), config("t"))
    assert [each.metadata["step"] for each in found] == [1, 0]
    assert found[0].pending_writes == []
    proxy.fault.cut_after_bytes = None
    calls.run(saver, name, *args)
    assert len(calls.list(make_saver(), config("t"))) == (3 if name == "put" else 2)
