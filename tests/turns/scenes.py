"""Threads of every kind, made by real graphs: what the turn log, the readers and the archives are tested on.

`Talk` is a graph whose answers are dictated. `SCENES` holds one function per kind of thread; each leaves a thread of the
given id behind, in a saver of the caller's.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.types import Command, interrupt

PNG: Final = (
    bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010804000000b51c0c02") + bytes(range(256)) * 10
)


class Chat(TypedDict, total=False):
    """A conversation, and a channel that is none."""

    messages: Annotated[list[AnyMessage], add_messages]
    note: str


class Ask(str):
    """An answer that is a question to a human: the node interrupts with it, then says what it was told."""


class Talk:
    """A graph that says what it is told to, one superstep per answer."""

    def __init__(self, saver: Any, thread_id: str, *, renew: Callable[[], Any] | None = None) -> None:
        self.renew = renew
        self.config: Any = {"configurable": {"thread_id": thread_id}}
        self.script: list[Any] = []
        builder = StateGraph(Chat).add_node("say", self._say).add_edge(START, "say")
        builder.add_conditional_edges("say", lambda _: "say" if self.script else END)
        self._graph = builder.compile(checkpointer=saver)

    @property
    def graph(self) -> Any:
        """The compiled graph; with `renew`, on a new saver each time, as after a restart of the process."""
        if self.renew is not None:
            self._graph.checkpointer = self.renew()
        return self._graph

    def _say(self, state: Chat) -> Any:
        line = self.script[0]
        if isinstance(line, Exception):
            raise line
        if isinstance(line, Ask):
            line = AIMessage(f"you said {interrupt(str(line))}")
        del self.script[0]
        return {"messages": line}

    def ask(self, question: Any, *script: Any, config: Any = None) -> Any:
        """Run one turn: what the user says, then what is answered, step by step."""
        self.script = list(script)
        said = HumanMessage(question) if isinstance(question, str) else question
        return self.graph.invoke({"messages": said}, config or self.config)

    def resume(self, value: Any, *script: Any) -> Any:
        """Go on after an interrupt."""
        self.script[1:] = script
        return self.graph.invoke(Command(resume=value), self.config)

    def update(self, *messages: Any, config: Any = None, **more: Any) -> Any:
        """Write into the state by hand; return the new config."""
        values = {"messages": list(messages), **more} if messages else more
        return self.graph.update_state(config or self.config, values, as_node="say")

    @property
    def messages(self) -> list[Any]:
        """The conversation at the head."""
        return list(self.graph.get_state(self.config).values.get("messages", []))


def calling(*names: str, text: str = "") -> AIMessage:
    """Return an answer that asks for tools."""
    return AIMessage(text, tool_calls=[{"name": name, "args": {"of": name}, "id": f"call-{name}"} for name in names])


def result(name: str, content: Any = "done") -> ToolMessage:
    """Return what the tool gave back."""
    return ToolMessage(content, tool_call_id=f"call-{name}")


def answered(text: str, *, model: str = "gpt-test", tokens: int = 7) -> AIMessage:
    """Return an answer as an integration makes it, with model and usage."""
    return AIMessage(
        text,
        response_metadata={"model_provider": "openai", "model_name": model, "id": f"resp-{text}"},
        usage_metadata={"input_tokens": tokens, "output_tokens": 2, "total_tokens": tokens + 2},
    )


def picture(text: str, data: bytes = PNG) -> HumanMessage:
    """Return a question with an image in it."""
    url = "data:image/png;base64," + base64.b64encode(data).decode()
    return HumanMessage([{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": url}}])


def tool_turn(talk: Talk, number: int) -> None:
    """Run a turn with two tools at once."""
    a, b = f"a{number}", f"b{number}"
    talk.ask(f"question {number}", calling(a, b), [result(a), result(b)], answered(f"answer {number}"))


def _plain(talk: Talk) -> None:
    talk.ask("hi", answered("hello"))
    talk.ask("and again?", answered("yes", model="other-model"))


def _tools(talk: Talk) -> None:
    for number in range(5):
        tool_turn(talk, number)


def _media(talk: Talk) -> None:
    talk.ask(picture("what is this?"), answered("a dot"))
    shown = [
        {"type": "text", "text": "shown"},
        {"type": "image", "base64": base64.b64encode(PNG * 2).decode(), "mime_type": "image/png"},
    ]
    talk.ask(picture("and this?", PNG * 3), calling("look"), result("look", shown), answered("the same, larger"))
    talk.ask("thanks", answered("welcome"))


def _removed(talk: Talk) -> None:
    _tools(talk)
    talk.update(*[RemoveMessage(id=message.id) for message in talk.messages[5:10]])
    talk.ask("still there?", answered("mostly"))


def _summarised(talk: Talk) -> None:
    _tools(talk)
    summary = HumanMessage("they asked five times", additional_kwargs={"lc_source": "summarization"})
    kept = talk.messages[-2:]
    talk.update(RemoveMessage(id=REMOVE_ALL_MESSAGES), summary, *kept)
    talk.ask("go on", answered("going on"))


def _trimmed(talk: Talk) -> None:
    _tools(talk)
    talk.update(*[RemoveMessage(id=message.id) for message in talk.messages[:-5]])


def _emptied(talk: Talk) -> None:
    _plain(talk)
    talk.update(RemoveMessage(id=REMOVE_ALL_MESSAGES))


def _forked(talk: Talk) -> None:
    _tools(talk)
    history = list(talk.graph.get_state_history(talk.config))
    early = next(state for state in history if len(state.values["messages"]) == 5)
    talk.ask("another way", answered("indeed"), config=early.config)


def _replayed(talk: Talk) -> None:
    _plain(talk)
    early = next(s for s in talk.graph.get_state_history(talk.config) if len(s.values["messages"]) == 3)
    talk.script = [answered("another yes")]
    talk.graph.invoke(None, early.config)


def _long(talk: Talk) -> None:
    talk.ask("work", *[line for n in range(90) for line in (calling(f"t{n}"), result(f"t{n}"))], answered("phew"))
    talk.ask("more", answered("no"))


def _updated(talk: Talk) -> None:
    _plain(talk)
    talk.update(note="by hand")
    talk.update(HumanMessage("written by hand"))
    talk.update(AIMessage("answered by hand"))
    before = talk.messages[1]
    talk.update(AIMessage("corrected", id=before.id))


def _interrupted(talk: Talk) -> None:
    _plain(talk)
    talk.ask("delete it", calling("delete"), Ask("really?"))


def _resumed(talk: Talk) -> None:
    talk.ask("delete it", Ask("really?"))
    talk.resume("yes", answered("gone"))


def _failed(talk: Talk) -> None:
    _plain(talk)
    try:
        talk.ask(picture("what is it?"), calling("look"), ValueError("no such file"))
    except ValueError:
        return
    raise AssertionError("the run should have failed")


def _retried(talk: Talk) -> None:
    _failed(talk)
    talk.script = [result("look"), answered("a dot after all")]
    talk.graph.invoke(None, talk.config)


def _after_failure(talk: Talk) -> None:
    _failed(talk)
    talk.ask("never mind", answered("fine"))


def _odd(talk: Talk) -> None:
    """Leading system messages, several questions in a row, a notification, several answers, odd content."""
    talk.update(SystemMessage("be kind"), HumanMessage("one"), HumanMessage("two"))
    talk.ask("three", answered("to all three"), [AIMessage("and more"), AIMessage([])])
    notice = HumanMessage("a file changed", additional_kwargs={"lc_source": "notification"})
    talk.ask(notice, answered("seen"))
    content = [
        "plain text",
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "text", "text": "\0 \U0001f600"},
    ]
    numbers = {"big": 2**63, "small": -(2**62), "float": 1.0, "fine": 0.1, "nothing": None, "deep": [[{}]]}
    call = {"name": "calc", "args": numbers, "id": "c-1"}
    talk.ask(
        "four",
        AIMessage(content, tool_calls=[call]),
        ToolMessage("x", tool_call_id="c-1", artifact={"b": b"\xff\0"}),
        answered("4"),
    )


SCENES: Final[dict[str, Callable[[Talk], None]]] = {
    "plain": _plain,
    "tools": _tools,
    "media": _media,
    "removed": _removed,
    "summarised": _summarised,
    "trimmed": _trimmed,
    "emptied": _emptied,
    "forked": _forked,
    "replayed": _replayed,
    "long": _long,
    "updated": _updated,
    "interrupted": _interrupted,
    "resumed": _resumed,
    "failed": _failed,
    "retried": _retried,
    "after failure": _after_failure,
    "odd": _odd,
}
THREAD_IDS: Final = {"plain": "Zoë/名前 {x}:%7e~!*'()\U0001f600", "tools": "a\0b\1c\n ", "media": "t" * 300}
"""Ids that need care; the others are called as their scene is."""


def thread_id_of(scene: str) -> str:
    """Return the id that the thread of a scene gets."""
    return THREAD_IDS.get(scene, scene)


def play(saver: Any, scenes: Sequence[str] = tuple(SCENES)) -> dict[str, Talk]:
    """Make the threads of these scenes."""
    talks = {scene: Talk(saver, thread_id_of(scene)) for scene in scenes}
    for scene, talk in talks.items():
        SCENES[scene](talk)
    return talks
