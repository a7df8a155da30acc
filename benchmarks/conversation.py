"""The one workload every saver gets: a compiled tool-calling graph, driven turn by turn.

A *tool turn* is one ``invoke``: a question, an answer that asks for a tool, the tool's result, the final answer. That is four
messages whose text is `TEXT_BYTES` bytes each, and five checkpoints (input, start, model, tools, model). The texts
are pseudo-random and differ in every message, so no saver gains by storing equal bytes once; the same turn number always
gives the same texts, so all savers store the same conversation.
"""

import hashlib
import random
from typing import Any, TypeAlias

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode, tools_condition

TEXT_BYTES = 400
MESSAGES_PER_TURN = 4
CHECKPOINTS_PER_TURN = 5

Graph: TypeAlias = CompiledStateGraph[Any, Any, Any, Any]

_WORDS = ("amber", "basin", "cargo", "delta", "ember", "fjord", "grain", "hotel", "index", "jetty", "karst", "lumen")


def prose(seed: str, size_bytes: int) -> str:
    """Return `size_bytes` bytes of ASCII text that depend on `seed` alone."""
    source = random.Random(seed)
    text = seed + ":"
    while len(text) < size_bytes:
        text += " " + source.choice(_WORDS) + str(source.randrange(1000))
    return text[:size_bytes]


def question(turn: int) -> HumanMessage:
    """Return the user's message of turn `turn` (0-based)."""
    return HumanMessage(prose(f"question {turn}", TEXT_BYTES))


@tool
def look_up(query: str) -> str:
    """Answer a query from the archive."""
    return prose(f"result of {query[:24]}", TEXT_BYTES)


class ScriptedChatModel(BaseChatModel):
    """A chat model that asks for one tool per question and answers once the result is there."""

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
        last = messages[-1]
        reply = _tool_request(last) if isinstance(last, HumanMessage) else _answer(last)
        return ChatResult(generations=[ChatGeneration(message=reply)])


def _tool_request(asked: BaseMessage) -> AIMessage:
    """Half of the text is said, half is the call's argument, as models do."""
    seed = str(asked.content)[:24]
    call_id = "call_" + hashlib.blake2b(seed.encode(), digest_size=12).hexdigest()
    query = prose(f"query on {seed}", TEXT_BYTES // 2)
    call = {"name": look_up.name, "args": {"query": query}, "id": call_id, "type": "tool_call"}
    return AIMessage(prose(f"plan for {seed}", TEXT_BYTES // 2), tool_calls=[call])


def _answer(result: BaseMessage) -> AIMessage:
    return AIMessage(prose(f"answer from {str(result.content)[:40]}", TEXT_BYTES))


def compile_graph(checkpointer: BaseCheckpointSaver[Any]) -> Graph:
    """Return the tool-calling graph every saver is measured with."""
    model = ScriptedChatModel()
    builder = StateGraph(MessagesState)
    builder.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_node("tools", ToolNode([look_up]))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", tools_condition)
    builder.add_edge("tools", "model")
    return builder.compile(checkpointer=checkpointer)
