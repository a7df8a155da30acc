"""Continue a conversation on another model inside `create_agent` (needs the package `langchain`).

The thread keeps what each model said; only the request to the model is adapted, so switching back loses nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.language_models import BaseChatModel

from .dialects.report import Loss
from .transfer.histories import adapt_messages

_log = logging.getLogger(__name__)

DIALECT_OF_PROVIDER: Final = {
    "openai": ("openai-chat", None),
    "azure": ("openai-chat", None),
    "anthropic": ("anthropic", None),
    "google_genai": ("google", "gemini"),
    "google_vertexai": ("google", "vertex"),
    "amazon_bedrock": ("bedrock", None),
    "mistral": ("mistral", None),
    "mistralai": ("mistral", None),
    "groq": ("openai-chat", "groq"),
    "fireworks": ("openai-chat", "fireworks"),
    "deepseek": ("openai-chat", "deepseek"),
    "moonshot": ("openai-chat", "moonshot"),
    "openrouter": ("openai-chat", "openrouter"),
    "xai": ("openai-chat", "openai"),
}
"""LangChain's provider word -> dialect and profile."""


def dialect_of(model: BaseChatModel) -> tuple[str, str | None]:
    """Name the dialect and profile that a LangChain chat model speaks.

    Raises:
        LookupError: the provider is not known; pass `to=` instead.
    """
    provider = str(model._get_ls_params().get("ls_provider", ""))
    if provider in ("openai", "azure") and getattr(model, "use_responses_api", None):
        return "openai-responses", None
    try:
        return DIALECT_OF_PROVIDER[provider]
    except KeyError:
        known = ", ".join(sorted(DIALECT_OF_PROVIDER))
        raise LookupError(f"provider {provider!r} has no dialect here (known: {known}). Pass to=.") from None


def model_name(model: BaseChatModel) -> str | None:
    """Name the model that a LangChain chat model asks; some parts may go to that very model only."""
    name = model._get_ls_params().get("ls_model_name")
    return name if isinstance(name, str) and name else None


class PortableHistoryMiddleware(AgentMiddleware[Any, Any]):
    """Makes each request's messages fit for the model that is asked.

    Args:
        to: Name of the dialect; by default the one that the request's model speaks.
        on_loss: Called with the losses of a request that has any; by default they are logged.
        **options: As `export_messages` takes them.
    """

    def __init__(
        self, to: str | None = None, *, on_loss: Callable[[tuple[Loss, ...]], None] | None = None, **options: Any
    ) -> None:
        super().__init__()
        self._to = to
        self._on_loss = on_loss or _logged
        self._options = options

    def _adapted(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        named = (self._to, self._options.get("profile")) if self._to else dialect_of(request.model)
        options = {"model": model_name(request.model), **self._options, "profile": named[1]}
        adapted = adapt_messages(request.messages, named[0], **options)
        if adapted.report:
            self._on_loss(adapted.report)
        return request.override(messages=adapted.messages)  # type: ignore[arg-type]  # messages are messages

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Adapt the request, then ask the model."""
        return handler(self._adapted(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Adapt the request, then ask the model."""
        return await handler(self._adapted(request))


def _logged(report: tuple[Loss, ...]) -> None:
    for loss in report:
        _log.info("%s", loss)
