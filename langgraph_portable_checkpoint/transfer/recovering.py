"""One conversation of a thread's newest state and of what only older ones hold: which messages, in which order.

Pure: it is given states, the newest first, and knows no saver. Contract:

- The newest state is there whole, unchanged, in its own order.
- A message that only older states hold stands directly behind the one that it followed there; one that followed none
  stands at the beginning, but behind the system messages that lead the newest state.
- A message is the same in two states if its id is; without an id, if all that it says is.
- A summary is left out only where all that it stands for is there: no state is missing between the newest one and the
  one before it came, and the step that brought it did nothing but put it in the place of messages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from itertools import takewhile
from typing import Any, Final

from langchain_core.messages import BaseMessage

from ..dialects.export import read_messages
from ..envelope.facts import MessageFact, fact_of_envelope, fact_of_message
from ..envelope.model import MessageEnvelope
from ..envelope.read import read_message

RECOVERED: Final = "recovered"
Message = BaseMessage | MessageEnvelope
_Key = tuple[str | bytes, int]
"""A message's id, or what it says where it has none, and how often that stood in its state before."""
_State = Mapping[_Key, Message]


@dataclass(frozen=True, slots=True)
class Recovered:
    """A conversation with what its newest state has lost.

    Attributes:
        messages: In order; those that only older states hold are marked by `extras["recovered"]`.
        left_out: Names of the summaries that are not among them, since what they stand for is.
    """

    messages: list[Message]
    left_out: tuple[str, ...]


class Recovering:
    """Takes the states of a thread, the newest first, and makes one conversation of them.

    Args:
        newest: The messages of the newest state.
        step: Its number in the course of the thread, as its metadata have it.
    """

    def __init__(self, newest: Iterable[Message], step: Any) -> None:
        self._state, self._step = _keyed(newest), step
        self._kept = frozenset(self._state)
        leading = list(takewhile(lambda key: _fact(self._state[key]).role == "system", self._state))
        self._leading = frozenset(leading)
        self._line = _Line()
        self._summaries = _Summaries()
        self._enter(self._state, front=None, still=frozenset())
        self._front = leading[-1] if leading else None

    def take(self, older: Iterable[Message], step: Any) -> None:
        """Take the state before the one that was given last."""
        state = _keyed(older)
        self._enter(state, front=self._front, still=self._leading)
        self._summaries.judge(self._state, state, consecutive=_follows(self._step, step))
        self._state, self._step = state, step

    def _enter(self, state: _State, *, front: _Key | None, still: frozenset[_Key]) -> None:
        """Put a state's messages that are new here behind those that they follow; none goes between `still` ones."""
        before = front
        for key, message in state.items():
            if key not in self._line.messages:
                self._line.put(key, message, behind=before)
                self._summaries.meet(key, message)
            before = before if key in still else key

    def result(self) -> Recovered:
        """Return the conversation, once all states that there are were given."""
        without = self._summaries.proven(self._state)
        messages = [
            message if key in self._kept else _marked(message)
            for key, message in self._line.in_order()
            if key not in without
        ]
        names = (key for key, _ in self._line.in_order() if key in without)
        return Recovered(messages, tuple(name if isinstance(name, str) else "" for name, _ in names))


class _Line:
    """Messages in a row, into which others can be put anywhere at the same cost."""

    def __init__(self) -> None:
        self.messages: dict[_Key, Message] = {}
        self._next: dict[_Key | None, _Key | None] = {None: None}

    def put(self, key: _Key, message: Message, *, behind: _Key | None) -> None:
        self.messages[key] = message
        self._next[key], self._next[behind] = self._next[behind], key

    def in_order(self) -> Iterator[tuple[_Key, Message]]:
        key = self._next[None]
        while key is not None:
            yield key, self.messages[key]
            key = self._next[key]


class _Summaries:
    """Tells which summaries stand for nothing that is not there."""

    def __init__(self) -> None:
        self._known: set[_Key] = set()
        self._replacing: set[_Key] = set()
        self._unproven: set[_Key] = set()
        self._without_gap = True

    def meet(self, key: _Key, message: Message) -> None:
        """Remember a message if it is a summary."""
        if _fact(message).summary:
            self._known.add(key)

    def judge(self, newer: _State, older: _State, *, consecutive: bool) -> None:
        """Look at how summaries came that a state has and the one before it has not.

        A step that brings other messages too may be that of a subgraph, which knew more than the thread ever did.
        """
        self._without_gap &= consecutive
        came = newer.keys() - older.keys()
        replaces = self._without_gap and len(came) == 1 and not older.keys() <= newer.keys()
        (self._replacing if replaces else self._unproven).update(came & self._known)

    def proven(self, oldest: _State) -> set[_Key]:
        """Name those that stand for nothing but what is there; `oldest` is the last state that could be had."""
        return self._replacing - self._unproven - oldest.keys()


def _keyed(messages: Iterable[Message]) -> dict[_Key, Message]:
    """Give each message of a state a key by which it is found in others."""
    met: Counter[str | bytes] = Counter()
    keyed: dict[_Key, Message] = {}
    for message in messages:
        name = _name(message)
        keyed[name, met[name]] = message
        met[name] += 1
    return keyed


def _name(message: Message) -> str | bytes:
    name = message.get("id") if isinstance(message, dict) else message.id
    if isinstance(name, str):
        return name
    (envelope,) = read_messages([message])
    return blake2b(repr(envelope).encode(errors="surrogatepass"), digest_size=16).digest()


def _follows(newer: Any, older: Any) -> bool:
    """Tell whether two steps are neighbours; runs that save at their end only, and pruned threads, lack some."""
    return isinstance(newer, int) and isinstance(older, int) and newer == older + 1


def _fact(message: Message) -> MessageFact:
    return fact_of_envelope(message) if isinstance(message, dict) else fact_of_message(message)


def _marked(message: Message) -> MessageEnvelope:
    envelope = message if isinstance(message, dict) else read_message(message)
    return {**envelope, "extras": {**envelope.get("extras", {}), RECOVERED: True}}
