"""Seed an OpenAI-style message list from AGENT_CHECKPOINT_INIT: the whole of what an agent needs to be resumable.

portable-checkpoint resume checkpoint.jsonl -- python examples/seed_openai.py "And Italy?" --print-request
"""

import argparse
import json
import os
from pathlib import Path
from typing import Any

from langgraph_portable_checkpoint.dialects.export import export_messages, import_messages


def seeded_messages() -> list[dict[str, Any]]:
    """Return the messages of the checkpoint that the environment names; none where it names none."""
    path = os.environ.get("AGENT_CHECKPOINT_INIT")
    if not path:
        return []
    history = import_messages(Path(path).read_bytes(), from_="agent-checkpoint")
    messages: list[dict[str, Any]] = export_messages(history.envelopes, "openai-chat").payload["messages"]
    return messages


def main() -> None:
    """Ask one more question."""
    parser = argparse.ArgumentParser(description="Continue a conversation with an OpenAI-compatible API.")
    parser.add_argument("question")
    parser.add_argument("--model", default="gpt-4o-mini")
    parser.add_argument("--print-request", action="store_true", help="show the request instead of sending it")
    arguments = parser.parse_args()
    messages = [*seeded_messages(), {"role": "user", "content": arguments.question}]
    request = {"model": arguments.model, "messages": messages}
    if arguments.print_request:
        print(json.dumps(request))
        return
    import openai

    print(openai.OpenAI().chat.completions.create(**request).choices[0].message.content)


if __name__ == "__main__":
    main()
