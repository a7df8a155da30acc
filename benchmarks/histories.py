"""What exporting and importing histories costs: ``python -m benchmarks.histories [--lengths 100,300,1000,3000]``.

The unit is `json.dumps`, with its defaults, of the history that comes out. For each shape of thread, dialect and length:

- *read* is getting the messages from a saver (`get_tuple`), *reader* is reading them into neutral envelopes;
- *export* is `export_messages` of envelopes, so without either; *thread* is `export_thread` with all of it;
- *import* is `import_messages` of the payload, *messages* is making LangChain messages of what it read.

The steps of one row are timed in turn, round after round, in CPU time of this process, so that other processes do not
count. Each begins after a garbage collection, with the collector on; what was there before is frozen and not walked.
"""

from __future__ import annotations

import argparse
import base64
import gc
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver

from benchmarks.conversation import TEXT_BYTES, prose
from langgraph_portable_checkpoint import PortableRedisSaver, export_messages, export_thread, import_messages
from langgraph_portable_checkpoint.dialects.export import read_messages
from langgraph_portable_checkpoint.dialects.registry import bundled_names, get_dialect
from langgraph_portable_checkpoint.envelope.model import MessageEnvelope
from langgraph_portable_checkpoint.envelope.write import write_message

CHANNEL = "messages"
MEDIA_BYTES = 600
_USAGE = {"input_tokens": 900, "output_tokens": 80, "total_tokens": 980}
_ANTHROPIC = {"model_provider": "anthropic", "model_name": "claude-sonnet-4-5", "stop_reason": "tool_use"}


def texts(turn: int) -> Iterator[BaseMessage]:
    """A question and an answer of plain text."""
    yield HumanMessage(prose(f"question {turn}", TEXT_BYTES), id=f"q{turn}")
    yield AIMessage(prose(f"answer {turn}", TEXT_BYTES), id=f"a{turn}")


def tools(turn: int) -> Iterator[BaseMessage]:
    """A question, a plan with a call, its result, an answer."""
    call = {"name": "look_up", "args": {"query": prose(f"query {turn}", TEXT_BYTES // 2)}, "id": f"call_{turn:024}"}
    yield HumanMessage(prose(f"question {turn}", TEXT_BYTES), id=f"q{turn}")
    yield AIMessage(prose(f"plan {turn}", TEXT_BYTES // 2), tool_calls=[call], id=f"p{turn}")
    yield ToolMessage(prose(f"result {turn}", TEXT_BYTES), tool_call_id=call["id"], name="look_up", id=f"r{turn}")
    yield AIMessage(prose(f"answer {turn}", TEXT_BYTES), id=f"a{turn}")


def reasoning(turn: int) -> Iterator[BaseMessage]:
    """The same with signed reasoning before each answer, as langchain-anthropic makes it."""
    call = {"name": "look_up", "args": {"query": prose(f"query {turn}", TEXT_BYTES // 2)}, "id": f"toolu_{turn:020}"}
    thought = {"type": "thinking", "thinking": prose(f"thought {turn}", TEXT_BYTES), "signature": "c2ln" * 25}
    use = {"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["args"]}
    said = {"type": "text", "text": prose(f"answer {turn}", TEXT_BYTES)}
    facts: dict[str, Any] = {"response_metadata": _ANTHROPIC, "usage_metadata": _USAGE}
    yield HumanMessage(prose(f"question {turn}", TEXT_BYTES), id=f"q{turn}")
    yield AIMessage([thought, use], tool_calls=[call], id=f"p{turn}", **facts)
    yield ToolMessage(prose(f"result {turn}", TEXT_BYTES), tool_call_id=call["id"], name="look_up", id=f"r{turn}")
    yield AIMessage([thought, said], id=f"a{turn}", **facts)


def media(turn: int) -> Iterator[BaseMessage]:
    """A question with a small picture, and an answer."""
    image = base64.b64encode(b"\x89PNG\r\n\x1a\n" + prose(f"image {turn}", MEDIA_BYTES).encode()).decode()
    picture = {"type": "image", "base64": image, "mime_type": "image/png"}
    yield HumanMessage([{"type": "text", "text": prose(f"q {turn}", TEXT_BYTES)}, picture], id=f"q{turn}")
    yield AIMessage(prose(f"answer {turn}", TEXT_BYTES), id=f"a{turn}")


SHAPES: Mapping[str, Callable[[int], Iterator[BaseMessage]]] = {
    "texts": texts,
    "tools": tools,
    "reasoning": reasoning,
    "media": media,
}


def thread(shape: str, length: int) -> list[BaseMessage]:
    """Make a thread of whole turns, `length` messages or up to three more."""
    messages: list[BaseMessage] = []
    turn = 0
    while len(messages) < length:
        messages.extend(SHAPES[shape](turn))
        turn += 1
    return messages


def store(saver: BaseCheckpointSaver[Any], name: str, messages: Sequence[BaseMessage]) -> RunnableConfig:
    """Put a thread into a saver as one checkpoint."""
    config: RunnableConfig = {"configurable": {"thread_id": name, "checkpoint_ns": ""}}
    version = saver.get_next_version(None, None)
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = {CHANNEL: [*messages]}
    checkpoint["channel_versions"] = {CHANNEL: version}
    saver.put(config, checkpoint, {"source": "input", "step": 0, "parents": {}}, {CHANNEL: version})
    return config


def jsonable(value: Any) -> Any:
    """Spell bytes as base64, so that `json.dumps` takes the value with its defaults."""
    if isinstance(value, dict):
        return {key: jsonable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [jsonable(item) for item in value]
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


@dataclass(frozen=True)
class Timing:
    """Seconds of one step over all rounds."""

    seconds: tuple[float, ...]

    @property
    def least(self) -> float:
        """The fastest round."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        """The round in the middle."""
        return statistics.median(self.seconds)


def interleaved(steps: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, Timing]:
    """Time the steps in turn, so that whatever else the machine does hits all alike. One round before is not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    gc.collect()
    gc.freeze()
    for _ in range(rounds + 1):
        for name, step in steps.items():
            gc.collect()
            started = time.process_time()
            step()
            seconds[name].append(time.process_time() - started)
    return {name: Timing(tuple(found[1:])) for name, found in seconds.items()}


@dataclass(frozen=True)
class Subject:
    """One thread in all the forms that steps begin with."""

    shape: str
    messages: list[BaseMessage]
    envelopes: list[MessageEnvelope]
    savers: Mapping[str, BaseCheckpointSaver[Any]]
    config: RunnableConfig

    @classmethod
    def stored(cls, shape: str, length: int, savers: Mapping[str, BaseCheckpointSaver[Any]]) -> Subject:
        """Make a thread and store it in each saver."""
        messages = thread(shape, length)
        configs = [store(saver, f"{shape}-{length}", messages) for saver in savers.values()]
        return cls(shape, messages, read_messages(messages), savers, configs[0])

    def steps(self, dialect: str) -> dict[str, Callable[[], object]]:
        """Return what is timed for one dialect."""
        payload = export_messages(self.envelopes, dialect).payload
        plain, imported = jsonable(payload), import_messages(payload, dialect)
        found: dict[str, Callable[[], object]] = {
            "dumps": lambda: json.dumps(plain),
            "reader": lambda: read_messages(self.messages),
            "export": lambda: export_messages(self.envelopes, dialect),
            "import": lambda: import_messages(payload, dialect),
            "messages": lambda: [write_message(envelope) for envelope in imported.envelopes],
        }
        for name, saver in self.savers.items():
            found[f"read {name}"] = lambda saver=saver: saver.get_tuple(self.config)  # type: ignore[misc]  # bound now
            found[f"thread {name}"] = lambda saver=saver: export_thread(  # type: ignore[misc]
                saver, self.config["configurable"]["thread_id"], dialect
            )
        return found


def row(dialect: str, subject: Subject, *, rounds: int, pick: Callable[[Timing], float]) -> str:
    """Time one dialect and return its row of the table."""
    times = {name: pick(timing) for name, timing in interleaved(subject.steps(dialect), rounds).items()}
    unit = times["dumps"]
    cells = [subject.shape, f"{len(subject.messages):,}", dialect, f"{unit * 1e3:.2f}"]
    cells += [f"{times['export'] / unit:.1f}", f"{times['reader'] / unit:.1f}"]
    for name in subject.savers:
        read, whole = times[f"read {name}"], times[f"thread {name}"]
        cells += [f"{read * 1e3:.1f}", f"{whole * 1e3:.1f}", f"{(whole - read) / unit:.1f}"]
    cells += [f"{times['import'] / unit:.1f}", f"{times['messages'] / unit:.1f}"]
    return f"| {' | '.join(cells)} |"


def head(savers: Sequence[str]) -> str:
    """Return the table's head: times in ms, and multiples of `json.dumps` (×)."""
    cells = ["shape", "messages", "dialect", "dumps, ms", "export ×", "reader ×"]
    for name in savers:
        cells += [f"{name}: read, ms", "thread, ms", "(thread - read) ×"]
    cells += ["import ×", "messages ×"]
    return f"| {' | '.join(cells)} |\n| --- | ---: | --- |{' ---: |' * (len(cells) - 3)}"


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.histories", description=(__doc__ or "").splitlines()[0])
    writing = [name for name in bundled_names() if get_dialect(name).writes]
    parser.add_argument("--lengths", default="100,300,1000,3000", help="messages per thread")
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--dialects", default=",".join(writing))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--median", action="store_true", help="tell the median instead of the fastest round")
    chosen = parser.parse_args(argv)
    pick: Callable[[Timing], float] = (lambda time: time.median) if chosen.median else (lambda time: time.least)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        own = stack.enter_context(PortableRedisSaver.embedded(folder))
        savers: dict[str, BaseCheckpointSaver[Any]] = {"InMemorySaver": InMemorySaver(), "this saver": own}
        print(head([*savers]), flush=True)
        for shape in chosen.shapes.split(","):
            for length in map(int, chosen.lengths.split(",")):
                subject = Subject.stored(shape, length, savers)
                for dialect in chosen.dialects.split(","):
                    print(row(dialect, subject, rounds=chosen.rounds, pick=pick), flush=True)


if __name__ == "__main__":
    main()
