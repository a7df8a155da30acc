"""Who produced a message: response metadata read as origin and stop reason, and written back.

Source: response_metadata of langchain-openai 1.7, -anthropic 1.7, -google-genai 4.4, -aws 1.9, -mistralai 1.1,
-groq 1.1, -fireworks 1.7.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

_PROVIDERS: Final[dict[str, str]] = {
    "google_genai": "google",
    "google_vertexai": "google-vertex",
    "bedrock_converse": "bedrock",
    "amazon_bedrock": "bedrock",
    "mistralai": "mistral",
}
"""LangChain's provider words where ours differ."""
_APIS: Final[dict[str, str]] = {
    "bedrock_converse": "converse",
    "anthropic": "messages",
    "google_anthropic_vertex": "messages",
    "google_genai": "generate-content",
    "google_vertexai": "generate-content",
    **dict.fromkeys(("groq", "fireworks", "deepseek", "xai", "openrouter"), "chat"),
}
_WORDS: Final = {(ours, _APIS.get(word)): word for word, ours in reversed(_PROVIDERS.items())}
"""LangChain's provider word by ours and the API; the first of several."""
_STOP_KEYS: Final = ("finish_reason", "stop_reason", "stopReason", "done_reason")
_STOP_KEY: Final = {"messages": "stop_reason", "converse": "stopReason"}
"""The key that an API's integration writes, where that is not `finish_reason`."""
_MODEL_KEYS: Final = ("model_name", "model", "model_id")


def _first(metadata: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    for key in keys:
        value = metadata.get(key)
        if isinstance(value, str):
            return value
    return None


def _api(metadata: Mapping[str, Any], word: str | None) -> str | None:
    if word == "openai" or metadata.get("object") == "response":
        response_id = metadata.get("id")
        marked = metadata.get("object") == "response" or metadata.get("output_version") == "responses/v1"
        responses = marked or str(response_id).startswith("resp_")
        return "responses" if responses else "chat"
    if word == "bedrock":  # InvokeModel, which takes what the model's maker takes
        return "messages" if "claude" in (_first(metadata, _MODEL_KEYS) or "") else None
    return _APIS.get(word or "")


def read_origin(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Read a message's response metadata as an origin; keys that are not known are left out."""
    if not metadata:
        return {}
    word = _first(metadata, ("model_provider",)) or _guessed(metadata)
    origin = {
        "provider": _PROVIDERS.get(word, word) if word else None,
        "model": _first(metadata, _MODEL_KEYS),
        "api": _api(metadata, word),
        "response_id": _first(metadata, ("id",)),
    }
    return {key: value for key, value in origin.items() if value is not None}


def _guessed(metadata: Mapping[str, Any]) -> str | None:
    """Tell LangChain's provider word by marks that no other API leaves; older integrations did not write it.

    Source: langchain-anthropic 0.3, -openai 0.3, -aws 0.2, -google-genai 2, -google-vertexai 2. Chat Completions leaves
    no such mark: many hosts speak it.
    """
    if metadata.get("object") == "response" or str(metadata.get("id")).startswith("resp_"):
        return "openai"
    if "stopReason" in metadata and "metrics" in metadata:
        return "bedrock_converse"
    model = _first(metadata, _MODEL_KEYS) or ""
    if "stop_sequence" in metadata and (not model or model.startswith("claude")):
        return "anthropic"
    if "safety_ratings" in metadata:
        return "google_vertexai" if "is_blocked" in metadata else "google_genai"
    return None


def read_stop_reason(metadata: Mapping[str, Any]) -> str | None:
    """Read why the model stopped, in the provider's own word."""
    return _first(metadata, _STOP_KEYS)


def _write_provider(envelope: Mapping[str, Any]) -> Any:
    origin = envelope.get("origin", {})
    provider, api = origin.get("provider"), origin.get("api")
    known = isinstance(provider, str) and isinstance(api, str | None)
    return _WORDS.get((provider, api), provider) if known else provider


def _write_origin(key: str) -> Callable[[Mapping[str, Any]], Any]:
    return lambda envelope: envelope.get("origin", {}).get(key)


DERIVED_METADATA: Final[dict[str, Callable[[Mapping[str, Any]], Any]]] = {
    "model_provider": _write_provider,
    **{key: _write_origin("model") for key in _MODEL_KEYS},
    "id": _write_origin("response_id"),
    **{key: lambda envelope: envelope.get("stop_reason") for key in _STOP_KEYS},
}
"""Response metadata keys whose values the neutral part already holds."""


def told_metadata(envelope: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return response metadata with None for each value that the neutral part already holds."""
    return {
        key: None if key in DERIVED_METADATA and DERIVED_METADATA[key](envelope) == value else value
        for key, value in metadata.items()
    }


def write_metadata(envelope: Mapping[str, Any]) -> dict[str, Any]:
    """Write origin and stop reason as the response metadata that reads back as them."""
    origin = envelope.get("origin", {})
    if not origin and envelope.get("stop_reason") is None:
        return {}
    reason = _STOP_KEY.get(str(origin.get("api")), "finish_reason")
    found = {
        "model_provider": _write_provider(envelope),
        "model_name": origin.get("model"),
        "id": origin.get("response_id"),
        "object": "response" if origin.get("api") == "responses" else None,
        reason: envelope.get("stop_reason"),
    }
    return {key: value for key, value in found.items() if value is not None}
