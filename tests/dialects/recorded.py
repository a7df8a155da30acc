"""The recorded histories of OpenAI and Anthropic, and how to judge a payload of each target."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.dialects import oracle_mistral, oracle_shapes

FOLDERS = {"openai_chat": "openai-chat", "openai_responses": "openai-responses", "anthropic": "anthropic"}
LISTS = {"openai-responses": "input"}
TARGETS: tuple[tuple[str, str | None], ...] = (
    ("openai-chat", None),
    *(("openai-chat", host) for host in ("fireworks", "groq", "deepseek", "moonshot", "vllm", "openrouter")),
    *(("openai-chat", host) for host in ("ollama", "perplexity", "compatible")),
    ("openai-responses", None),
    ("openai-responses", "xai"),
    ("anthropic", None),
    ("mistral", None),
    *(("mistral", version) for version in oracle_mistral.VERSIONS),
)


@dataclass(frozen=True)
class Recorded:
    """One history with the dialect that it is in."""

    name: str
    dialect: str
    profile: str | None
    payload: Any


def recorded(corpus: Path) -> Iterator[Recorded]:
    """Yield every history; a tau-bench file holds several."""
    for folder, dialect in FOLDERS.items():
        for path in sorted((corpus / folder).iterdir()):
            if ".exchanges." in path.name:
                continue
            payload = json.loads(path.read_text(encoding="utf-8"))
            profile = "deepseek" if "deepseek" in path.name else "xai" if "xai" in path.name else None
            taus = "taubench" in path.name
            for at, one in enumerate([record["traj"] for record in payload] if taus else [payload]):
                yield Recorded(f"{path.name}#{at}", dialect, profile, one)


def entries(payload: dict[str, Any], dialect: str) -> list[dict[str, Any]]:
    """The list of a payload."""
    return payload[LISTS.get(dialect, "messages")]


def breaches(payload: dict[str, Any], dialect: str, profile: str | None) -> list[str]:
    """What the oracles of a target say against a payload that is followed by a user message.

    Without a profile Mistral's payload must fit all tokenizers from v3 on; Mistral's own messages go back as they were,
    so with text and calls in one from v7 on, with thinking from v11 on.
    """
    found = entries(payload, dialect)
    if dialect == "mistral":
        followed = [*found, {"role": "user", "content": "Go on."}] if found[-1]["role"] == "assistant" else found
        versions = [profile] if profile else oracle_mistral.VERSIONS[_oldest(found) :]
        said = [f"{version}: {one}" for version in versions for one in oracle_mistral.breaches(followed, version)]
        return said + oracle_mistral.unknown_to_sdk(found)
    shape = "groq" if profile == "groq" else dialect
    strict = dialect != "openai-chat" or profile in (None, "openai", "groq")
    return oracle_shapes.breaches(shape, found) if strict else []


def _oldest(messages: list[dict[str, Any]]) -> int:
    """Position in VERSIONS of the oldest tokenizer that can have made such messages."""
    thinks = any(
        chunk["type"] == "thinking"
        for message in messages
        for chunk in (message.get("content") if isinstance(message.get("content"), list) else [])
    )
    both = any(message.get("content") and message.get("tool_calls") for message in messages)
    return 4 if thinks else 3 if both else 2
