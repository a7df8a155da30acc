"""mistral-common's own validators at serving level: the one vendor check of meaning that runs offline."""

from __future__ import annotations

import copy
from typing import Any

from mistral_common.exceptions import MistralCommonException
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.validator import ValidationMode, get_validator
from mistral_common.tokens.tokenizers.base import TokenizerVersion
from mistralai.client import models
from pydantic import TypeAdapter, ValidationError

VERSIONS = ("v1", "v2", "v3", "v7", "v11", "v13", "v15")


def breaches(messages: list[dict[str, Any]], version: str) -> list[str]:
    """Return what a tokenizer version's validator refuses; empty if it takes the messages."""
    try:
        request: Any = ChatCompletionRequest(model="model", messages=[_as_common(one) for one in messages])  # type: ignore[arg-type]  # dicts are read
        get_validator(TokenizerVersion(version), ValidationMode.serving).validate_request(request)
    except (MistralCommonException, ValidationError, ValueError) as error:
        return [str(error)[:400]]
    return []


def _as_common(message: dict[str, Any]) -> dict[str, Any]:
    """mistral-common wants a thinking chunk's text where the wire has a list of text chunks."""
    message = copy.deepcopy(message)
    for chunk in message["content"] if isinstance(message.get("content"), list) else ():
        if chunk["type"] == "thinking":
            chunk["thinking"] = "".join(part["text"] for part in chunk["thinking"])
            chunk.pop("signature", None)
    for call in message.get("tool_calls") or ():
        call.pop("index", None)
    return message


_MODELS = {
    "system": models.SystemMessage,
    "user": models.UserMessage,
    "assistant": models.AssistantMessage,
    "tool": models.ToolMessage,
}


def unknown_to_sdk(messages: list[dict[str, Any]]) -> list[str]:
    """Return keys that the SDK's models drop silently, and chunks that they call unknown."""
    found = []
    for at, message in enumerate(messages):
        read = TypeAdapter(_MODELS[message["role"]]).validate_python(message)
        dumped = read.model_dump(mode="json", by_alias=True, exclude_unset=True)
        if dumped != message:
            found.append(f"messages[{at}]: {message} became {dumped}")
    return found
