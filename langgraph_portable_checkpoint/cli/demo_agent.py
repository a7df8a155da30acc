"""The agent of the demo: a compiled tool-calling graph with a scripted chat model, run as a process of its own.

`python -m langgraph_portable_checkpoint.cli.demo_agent FOLDER ask|resume TURNS` runs turns on the embedded server of
FOLDER, and appends one line to FOLDER/ledger.txt each time a tool runs, so that what ran can be counted afterwards.
Asked to `ask`, it stops dead before the answer of its last turn and waits to be killed.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any, Final

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from ..errors import PortableCheckpointError
from ..saver import PortableRedisSaver

THREAD_ID: Final = "demo"
LEDGER: Final = "ledger.txt"
WAITING: Final = "waiting before the answer"
CONFIG: Final[RunnableConfig] = {"configurable": {"thread_id": THREAD_ID}}
_PLACES: Final = ("Hamburg", "Rotterdam", "Gdansk", "Porto", "Trieste", "Piraeus", "Bergen", "Riga")


def question(turn: int) -> str:
    """Return what the user asks in a turn, counted from 0."""
    return f"Parcel {1000 + turn} is late. Please refund it and tell me where it is."


class ScriptedModel(BaseChatModel):
    """Asks for one refund per question and answers when the result is there. `dies_at`: the turn without answer."""

    dies_at: int | None = None

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        turn = sum(isinstance(message, HumanMessage) for message in messages) - 1
        if isinstance(messages[-1], ToolMessage):
            if turn == self.dies_at:
                _wait_to_be_killed()
            reply = _reply(f"Parcel {1000 + turn} is refunded. It was last seen in {_place(turn)}.", turn)
        else:
            call = {"name": "refund", "args": {"parcel": 1000 + turn}, "id": f"call_{turn:04d}", "type": "tool_call"}
            reply = _reply("", turn, tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=reply)])


def _reply(text: str, turn: int, **more: Any) -> AIMessage:
    usage = {"input_tokens": 40 + 60 * turn, "output_tokens": 20, "total_tokens": 60 + 60 * turn}
    return AIMessage(text, usage_metadata=usage, response_metadata={"model_name": "scripted-1"}, **more)


def _place(turn: int) -> str:
    return _PLACES[turn % len(_PLACES)]


def _wait_to_be_killed() -> None:
    print(WAITING, flush=True)
    time.sleep(600)


def refunds(ledger: Path) -> BaseTool:
    """Return the tool; each run of it leaves one line in the ledger."""

    @tool
    def refund(parcel: int) -> str:
        """Refund a parcel."""
        with ledger.open("a", encoding="utf-8") as lines:
            lines.write(f"refund {parcel} by process {os.getpid()}\n")
        stops = "; ".join(f"{hour:02d}:00 {_place(parcel + hour)}" for hour in range(6, 22, 2))
        return f"refunded parcel {parcel}. Its way so far: {stops}"

    return refund


def compile_graph(saver: PortableRedisSaver, folder: Path, *, dies_at: int | None = None) -> CompiledStateGraph[Any]:
    """Return the graph: model, tools, model, ... until an answer."""
    model = ScriptedModel(dies_at=dies_at)
    builder = StateGraph(MessagesState)
    builder.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_node("tools", ToolNode([refunds(folder / LEDGER)]))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", tools_condition)
    builder.add_edge("tools", "model")
    return builder.compile(checkpointer=saver)


def main(folder: Path, task: str, turns: int) -> None:
    """Ask all questions and wait to be killed in the last turn, or resume what is there."""
    with PortableRedisSaver.embedded(folder) as saver:
        if task == "resume":
            # No input: the graph goes on from the thread's newest checkpoint.
            state = compile_graph(saver, folder).invoke(None, CONFIG, durability="sync")
            print(state["messages"][-1].content, flush=True)
            return
        graph = compile_graph(saver, folder, dies_at=turns - 1)
        for turn in range(turns):
            graph.invoke({"messages": [HumanMessage(question(turn))]}, CONFIG, durability="sync")


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
    except PortableCheckpointError as trouble:
        raise SystemExit(str(trouble)) from None
