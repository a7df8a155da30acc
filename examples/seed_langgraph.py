"""Seed a LangGraph thread from AGENT_CHECKPOINT_INIT, and go on with it.

portable-checkpoint resume checkpoint.jsonl -- python examples/seed_langgraph.py "And Italy?" --data ./data
"""

import argparse
import os
from pathlib import Path

from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_portable_checkpoint import PortableRedisSaver
from langgraph_portable_checkpoint.dialects.export import import_messages


def seeded_messages() -> list[BaseMessage]:
    """Return the messages of the checkpoint that the environment names; none where it names none."""
    path = os.environ.get("AGENT_CHECKPOINT_INIT")
    return import_messages(Path(path).read_bytes(), from_="agent-checkpoint").messages if path else []


def main() -> None:
    """Ask one more question in a thread that starts with the checkpoint."""
    parser = argparse.ArgumentParser(description="Continue a conversation in a LangGraph thread.")
    parser.add_argument("question")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--thread", default="resumed")
    arguments = parser.parse_args()
    model = FakeListChatModel(responses=["A real model answers here."])
    builder = StateGraph(MessagesState)
    builder.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_edge(START, "model")
    with PortableRedisSaver.embedded(arguments.data) as saver:
        graph = builder.compile(checkpointer=saver)
        seed = [] if saver.thread_info(arguments.thread) else seeded_messages()
        messages = [*seed, HumanMessage(arguments.question)]
        state = graph.invoke({"messages": messages}, {"configurable": {"thread_id": arguments.thread}})
        print(f"{len(state['messages'])} messages; the last one: {state['messages'][-1].content}")


if __name__ == "__main__":
    main()
