"""Continue a conversation on another model inside `create_agent` (needs the package `langchain`).

The thread keeps what each model said; only the request to the model is adapted, so switching back loses nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from urllib.parse import urlsplit

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage

from .dialects.integrations import BY_WORD, host_profile, integration_of
from .dialects.report import Loss
from .transfer.histories import adapt_messages

_log = logging.getLogger(__name__)


def dialect_of(model: BaseChatModel, tools: Sequence[Any] = ()) -> tuple[str, str | None]:
    """Name the dialect and profile that a LangChain chat model speaks.

    Args:
        model: The chat model.
        tools: The tools of the request; some of OpenAI's models take them over the Responses API only.

    Raises:
        LookupError: the model is not known; pass `to=` instead.
    """
    names = [base.__name__ for base in type(model).__mro__]
    word = str(_told(model).get("ls_provider", ""))
    found = integration_of(names, word)
    if found is None:
        known = ", ".join(sorted(BY_WORD))
        raise LookupError(f"{names[0]} of provider {word!r} has no dialect here (known: {known}). Pass to=.")
    if "ChatBedrock" in names and not getattr(model, "beta_use_converse_api", False):
        return _invoked(model)
    if found.dialect == "openai-chat" and _asks_responses(model, tools):
        return ("openai-responses", found.responses) if "BaseChatOpenAI" in names else ("openai-chat", "compatible")
    return found.dialect, _host(model) if found.profile == "openai" else found.profile


def _invoked(model: BaseChatModel) -> tuple[str, str | None]:
    """Name the wire of a model that is asked by InvokeModel: its maker's own."""
    claude = "anthropic" in str(getattr(model, "provider", None) or model_name(model) or "")
    return ("anthropic", "bedrock") if claude else ("openai-chat", "compatible")


def _asks_responses(model: BaseChatModel, tools: Sequence[Any]) -> bool:
    """True if langchain-openai will use the Responses API; it may depend on the request's tools."""
    decide = getattr(model, "_use_responses_api", None)
    if callable(decide):
        told = [tool if isinstance(tool, Mapping) else {"type": "function"} for tool in tools]
        return bool(decide({"tools": told} if told else {}))
    return bool(getattr(model, "use_responses_api", None))


def _host(model: BaseChatModel) -> str:
    """Name the host that OpenAI's client is pointed at."""
    url = getattr(model, "openai_api_base", None)
    hostname = urlsplit(url).hostname if isinstance(url, str) else None
    return host_profile(hostname) if hostname else "openai"


def model_name(model: BaseChatModel) -> str | None:
    """Name the model that a LangChain chat model asks; some parts may go to that very model only."""
    name = _told(model).get("ls_model_name")
    return name if isinstance(name, str) and name else None


def _told(model: BaseChatModel) -> Mapping[str, Any]:
    """Return what a model says of itself to tracers; nothing where it is not chosen yet, or is no chat model."""
    try:
        return model._get_ls_params()
    except AttributeError:
        return {}


def told_model(model: BaseChatModel) -> str | dict[str, Any] | None:
    """Name a model together with what its ModelProfile says of the media that it reads, where it has one."""
    name, profile = model_name(model), getattr(model, "profile", None)
    reads = {key: value for key, value in (profile or {}).items() if key.endswith(("_inputs", "_tool_message"))}
    return {**reads, "model": name} if reads else name


def thoughtless(messages: Sequence[BaseMessage]) -> bool:
    """Tell whether a turn goes on, behind results of its tools, that did not begin with signed thoughts (A12)."""
    start = next((at for at in range(len(messages), 0, -1) if not isinstance(messages[at - 1], _WITHIN_TURN)), 0)
    first = next((message for message in messages[start:] if isinstance(message, AIMessage)), None)
    if first is None or not isinstance(messages[-1], ToolMessage):
        return False
    begins = first.content[0] if first.content else None
    return not (isinstance(begins, dict) and (begins.get("type") in _THOUGHTS or "reasoningContent" in str(begins)))


_WITHIN_TURN: Final = (AIMessage, ToolMessage)
_THOUGHTS: Final = ("thinking", "redacted_thinking", "reasoning_content", "reasoning")


def without_thinking(request: ModelRequest[Any]) -> dict[str, Any]:
    """Return what of a request to change so that Claude does not think, where it was told to with a budget of tokens.

    Source: `thinking` of langchain-anthropic; `additional_model_request_fields` and `model_kwargs` of langchain-aws;
    `create_agent`, which binds the request's settings to the model.
    """
    told = {key: value for key, value in vars(request.model).items() if key in _THINKING_IN}
    fields, settings = _calm(told), _calm(request.model_settings)
    changes = {} if fields is None else {key: fields.get(key) for key in told}
    return {
        **({"model": request.model.model_copy(update=changes)} if changes else {}),
        **({"model_settings": settings} if settings is not None else {}),
    }


_THINKING_IN: Final = ("thinking", "additional_model_request_fields", "model_kwargs")


def _calm(fields: Any) -> dict[str, Any] | None:
    """Return fields without an order to think, also within those that hold more of them; None where there is none."""
    if not isinstance(fields, Mapping):
        return None
    found = {key: value for key, value in fields.items() if not (key == "thinking" and _is_enabled(value))}
    for key in _THINKING_IN[1:]:
        within = _calm(found.get(key))
        if within is not None:
            found[key] = within
    return found if found != dict(fields) else None


def _is_enabled(thinking: Any) -> bool:
    return isinstance(thinking, Mapping) and thinking.get("type") == "enabled"


_NOT_THINKING: Final = Loss(
    rule="A12",
    kind="downgraded",
    action="thinking was off for this request",
    detail="its turn did not begin with thoughts that the model signed, since another model began it",
)


class PortableHistoryMiddleware(AgentMiddleware[Any, Any]):
    """Makes each request's messages, and its system prompt, fit for the model that is asked.

    List it last, behind whatever chooses the model or changes the messages: what stands before it (a fallback, a
    summary, a call that a human edited) is then adapted too, and for the model that is really asked.

    Args:
        to: Name of the dialect; by default the one that the request's model speaks.
        on_loss: Called with the losses of a request that has any; by default they are logged.
        **options: As `export_messages` takes them; `profile` only together with `to`.

    Raises:
        TypeError: `profile` is given without `to`: then it is the request's model that says which profile it is.
    """

    def __init__(
        self, to: str | None = None, *, on_loss: Callable[[tuple[Loss, ...]], None] | None = None, **options: Any
    ) -> None:
        super().__init__()
        if to is None and "profile" in options:
            raise TypeError('profile= belongs to a dialect: name it too, as in to="openai-chat", or leave both out.')
        self._to = to
        self._on_loss = on_loss or _logged
        self._options = options

    def _adapted(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        named = (self._to, self._options.get("profile")) if self._to else dialect_of(request.model, request.tools)
        options = {"model": told_model(request.model), **self._options, "profile": named[1]}
        prompt = [] if request.system_message is None else [request.system_message]
        adapted = adapt_messages([*prompt, *request.messages], named[0], **options)
        calm = without_thinking(request) if thoughtless(adapted.messages) else {}
        report = _placed_behind(len(prompt), adapted.report)
        report = (*report, replace(_NOT_THINKING, target=named[0])) if calm else report
        if report:
            self._on_loss(report)
        messages: list[Any] = adapted.messages
        if prompt:
            prompt = [message for message in messages[:1] if isinstance(message, SystemMessage)]
            calm |= {"system_message": prompt[0] if prompt else None}
        return request.override(**calm, messages=messages[len(prompt) :])

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


def _placed_behind(prompts: int, report: tuple[Loss, ...]) -> tuple[Loss, ...]:
    """Count the messages of losses without the request's own system prompt, which no message of the thread is."""
    if not prompts:
        return report
    return tuple(replace(loss, message=loss.message - 1 if loss.message else None) for loss in report)


def _logged(report: tuple[Loss, ...]) -> None:
    for loss in report:
        _log.info("%s", loss)
