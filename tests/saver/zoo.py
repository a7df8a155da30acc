"""Values of every type that LangGraph's serializer can store, each made fresh by a function.

The classes here are module-level so that the serializer can find them again by name.
"""

from __future__ import annotations

import ipaddress
import re
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np
import pydantic.v1
from langchain_core.documents import Document
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.store.base import Item
from langgraph.types import Command, Interrupt, Overwrite, Send
from pydantic import BaseModel, Field, SecretBytes, SecretStr

from .zoo_messages import MESSAGES, anthropic, conversation


class Colour(Enum):
    RED = "red"
    BLUE = ("b", 2)


class Level(IntEnum):
    LOW = 1


class Mood(StrEnum):
    GOOD = "good"


class Address(BaseModel):
    street: str
    zip: int | None = None


class Person(BaseModel):
    name: str
    mood: Mood = Mood.GOOD
    addresses: list[Address] = Field(default_factory=list)
    born: date | None = None


class Thermometer(BaseModel, extra="allow"):
    degrees: Decimal


@dataclass
class Point:
    x: int
    tags: set[str] = field(default_factory=set)
    next: Point | None = None


@dataclass(frozen=True, slots=True)
class Frozen:
    when: datetime
    level: Level


class Pair(NamedTuple):
    left: int
    right: Any


Triple = namedtuple("Triple", "a b c")


class OldPerson(pydantic.v1.BaseModel):
    name: str
    tags: set[str] = set()


def _nested(levels: int) -> Any:
    value: Any = HumanMessage("bottom")
    for level in range(levels):
        value = {"level": level, "inner": [value]}
    return value


def _fortran() -> Any:
    return np.asfortranarray(np.arange(6, dtype="<f4").reshape(2, 3))


SCALARS: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "true": lambda: True,
    "zero": lambda: 0,
    "minus one": lambda: -1,
    "int64 max": lambda: 2**63 - 1,
    "uint64 max": lambda: 2**64 - 1,
    "int64 min": lambda: -(2**63),
    "float one": lambda: 1.0,
    "minus zero": lambda: -0.0,
    "nan": lambda: float("nan"),
    "infinity": lambda: float("-inf"),
    "tiny float": lambda: 5e-324,
    "empty string": lambda: "",
    "string with nul": lambda: "a\x00b",
    "lone surrogate": lambda: "x\ud83dy",
    "literal escape": lambda: "literal \\u0000 text",
    "bytes": lambda: b"\x00\xff",
    "empty bytes": lambda: b"",
    "bytearray": lambda: bytearray(b"\x01"),
    "decimal": lambda: Decimal("1.10"),
    "decimal nan": lambda: Decimal("Infinity"),
    "datetime": lambda: datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
    "naive datetime": lambda: datetime(2026, 1, 2),
    "datetime in a zone": lambda: datetime(2026, 7, 1, 12, tzinfo=timezone(timedelta(hours=5, minutes=45))),
    "date": lambda: date(2026, 1, 2),
    "time": lambda: time(1, 2, 3, 4, tzinfo=UTC, fold=1),
    "timedelta": lambda: timedelta(days=-1, seconds=5, microseconds=7),
    "timezone": lambda: timezone(timedelta(hours=-3), "BRT"),
    "zone info": lambda: ZoneInfo("UTC"),
    "uuid": lambda: UUID("12345678-1234-5678-1234-567812345678"),
    "path": lambda: Path("/a/b"),
    "relative path": lambda: Path(),
    "enum": lambda: Colour.RED,
    "enum of a tuple": lambda: [Colour.RED, Colour.BLUE],
    "int enum": lambda: Level.LOW,
    "str enum": lambda: Mood.GOOD,
    "pattern": lambda: re.compile(r"a+(?P<x>b)", re.IGNORECASE | re.DOTALL),
    "secret": lambda: SecretStr("s3cret"),
    "secret bytes": lambda: SecretBytes(b"s3cret"),
    "ip addresses": lambda: [
        ipaddress.ip_address("127.0.0.1"),
        ipaddress.ip_interface("10.0.0.1/8"),
        ipaddress.ip_network("10.0.0.0/8"),
        ipaddress.ip_address("::1"),
        ipaddress.ip_network("fe80::/10"),
    ],
    "exception": lambda: ValueError("boom"),
}

CONTAINERS: dict[str, Callable[[], Any]] = {
    "empty list": list,
    "empty dict": dict,
    "empty tuple": tuple,
    "empty set": set,
    "tuple": lambda: (1, (2, [3])),
    "set": lambda: {1, "a", 2.5},
    "frozenset": lambda: frozenset({1, 2}),
    "deque": lambda: deque([1, "b"], maxlen=5),
    "ordered dict": lambda: OrderedDict(b=1, a=2),
    "default dict": lambda: defaultdict(list, {"a": [1]}),
    "named tuple": lambda: Pair(1, [Pair(2, None)]),
    "old named tuple": lambda: Triple(1, "b", None),
    "keys that are not strings": lambda: {1: "a", 2.5: "b", None: "c", True: "d", (1, "x"): "e", b"k": "f"},
    "keys of rich types": lambda: {date(2026, 1, 1): 1, UUID(int=7): 2, Mood.GOOD: 3},
    "many keys of rich types": lambda: {date(2026, 1, 1) + timedelta(days=day): "text" * 10 for day in range(60)},
    "many keys that are not strings": lambda: dict.fromkeys(range(60), "text" * 10),
    "keys in unsorted order": lambda: {"z": 1, "a": 2, "": 3, "z\x00": 4},
    "ints, bools and floats": lambda: [1, True, 1.0, 0, False, 0.0, "1"],
    "deep nesting": lambda: _nested(40),
    "long list": lambda: list(range(5000)),
    "long list of dicts": lambda: [{"i": i, "text": "x" * 40} for i in range(300)],
    "wide dict": lambda: {f"k{i}": {"v": i} for i in range(300)},
    "list with repeats": lambda: [{"same": "x" * 200}] * 50,
    "dataclass": lambda: Point(1, {"a"}, Point(2)),
    "frozen dataclass": lambda: Frozen(datetime(2026, 1, 1, tzinfo=UTC), Level.LOW),
    "pydantic": lambda: Person(name="Ada", addresses=[Address(street="x", zip=1)], born=date(1815, 12, 10)),
    "pydantic with extras": lambda: Thermometer(degrees=Decimal("1.50"), unit="C"),  # type: ignore[call-arg]  # extra="allow"
    "pydantic version 1": lambda: OldPerson(name="Ada", tags={"a"}),
    "numpy vector": lambda: np.array([1.5, float("nan")]),
    "numpy matrix of bytes": lambda: np.zeros((2, 2), dtype="u1"),
    "numpy fortran": _fortran,
    "numpy empty": lambda: np.empty((0, 3)),
    "document": lambda: Document("text", metadata={"a": [1]}, id="d1"),
    "store item": lambda: Item(value={"a": 1}, key="k", namespace=("n",), created_at=_now(), updated_at=_now()),
}

FRAMEWORK: dict[str, Callable[[], Any]] = {
    "send": lambda: Send("node", {"x": (1, HumanMessage("hi"))}),
    "send with a timeout": lambda: Send("node", 1, timeout=2.5),
    "send of messages": lambda: Send("tools", {"messages": conversation()}),
    "sends": lambda: [Send("a", None), Send("b", [Send("c", b"")])],
    "interrupt": lambda: Interrupt({"ask": Decimal("1.0")}, id="i1"),
    "interrupts": lambda: (Interrupt("a"), Interrupt(None, id="i2", response_schema={"type": "string"})),
    "command": lambda: Command(update={"messages": [anthropic()]}, goto=[Send("x", 1), "y"], graph=Command.PARENT),
    "command to resume": lambda: Command(resume={"i1": True}),
    "overwrite": lambda: Overwrite([HumanMessage("only")]),
    "delta snapshot": lambda: _DeltaSnapshot([HumanMessage("a"), {"b": 1}]),
    "messages": conversation,
    "messages in a tuple": lambda: tuple(conversation()),
    "messages in a dict": lambda: {"thread": {"messages": conversation(), 7: [HumanMessage("x")]}},
    "a message among values": lambda: [1, HumanMessage("x"), "y", None, {"m": HumanMessage("z")}],
    "the same message twice": lambda: [HumanMessage("x", id="1")] * 2,
    "long conversation": lambda: [HumanMessage(f"message {i}", id=str(i)) for i in range(400)],
}

MARKERS: dict[str, Callable[[], Any]] = {
    "send marker": lambda: {"__send__": {"node": "x", "arg": 1}},
    "interrupt marker": lambda: {"__interrupt__": [{"value": 1, "id": "x"}]},
    "constructor marker 1": lambda: {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "HumanMessage"]},
    "constructor marker 2": lambda: {"lc": 2, "type": "constructor", "id": ["os", "system"], "args": ["true"]},
    "constructor with kwargs": lambda: {"lc": 2, "type": "constructor", "id": ["decimal", "Decimal"], "kwargs": {}},
    "secret marker": lambda: {"lc": 1, "type": "secret", "id": ["HOME"]},
    "media marker": lambda: {"$media": {"sha256": "0" * 64}, "media": "media:0", "type": "image"},
    "ref markers": lambda: {"$ref": "#/a", "__ref__": 1, "ref": b"\x00" * 16, "item": b"\x00" * 16},
    "page shaped": lambda: [[0, b"\x00" * 16], [1, b"\x01" * 16], {"k": 0}],
    "envelope shaped": lambda: {"v": 1, "role": "user", "content": [{"type": "text", "text": "x"}], "state": None},
    "message shaped": lambda: [{"role": "user", "content": "hi"}, {"type": "human", "data": {"content": "x"}}],
    "overwrite marker": lambda: {"type": "__overwrite__", "value": []},
    "ext shaped": lambda: ["os", "system", "true"],
    "type tag shaped": lambda: ["msgpack", b"\x81\xa1a\x01"],
}


def _now() -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC)


ZOO: dict[str, Callable[[], Any]] = {
    **SCALARS,
    **CONTAINERS,
    **FRAMEWORK,
    **MARKERS,
    **{f"message: {name}": make for name, make in MESSAGES.items()},
    "pure path": lambda: [Path("a") / "..", str(PurePosixPath("/x"))],
}
