"""What says that an import holds a part of a conversation only: the rest lies at the provider, or was never written.

A request may name what its provider keeps (an earlier response, a prompt, cached contents, an item), and an answer may
have failed or been cut off. Nothing of it can be fetched here, so each is told.

Source: openai 3.57 Response and ResponseInputItemParam; google-genai 3.6 GenerateContentConfig and FinishReason;
anthropic 2.14 StopReason; botocore 1.44 StopReason; mistralai 3.7; OpenTelemetry finish_reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ..envelope.model import MessageEnvelope
from .concerns import PARTIAL
from .google_parts import camel
from .report import Placed, Report

_KEPT: Final[Mapping[str, Mapping[str, str]]] = {
    "openai-responses": {
        "previous_response_id": "the turns before it",
        "conversation": "the rest of the conversation",
        "prompt": "the prompt that it is put into",
    },
    "google": {"cachedContent": "the contents before it"},
    "bedrock": {"promptVariables": "the prompt that it is put into"},
}
"""Keys of requests that name what the provider keeps, with what that is."""
_CHOICES: Final = frozenset({"openai-chat", "mistral"})
_STOPS: Final[Mapping[str, str]] = {
    "langchain": "response_metadata",
    "anthropic": "stop_reason",
    "claude-code": "stop_reason",
    "google": "finishReason",
    "bedrock": "stopReason",
    "otel": "finish_reason",
}
"""Native names of what envelopes have as their stop reason."""
_CUT_WORDS: Final = """
length model_length max_tokens max_output_tokens model_context_window_exceeded pause_turn refusal error
content_filter content_filtered guardrail_intervened malformed_model_output malformed_tool_use
insufficient_system_resource safety recitation language other blocklist prohibited_content spii malformed_function_call
image_safety image_prohibited_content image_other image_recitation unexpected_tool_call too_many_tool_calls
missing_thought_signature malformed_response model_armor
"""
_CUT_OFF: Final = frozenset(_CUT_WORDS.split())
_UNFINISHED: Final = frozenset({"incomplete", "failed", "cancelled", "in_progress", "queued"})
"""States of a response that is not whole."""
_OF_ITEMS: Final = frozenset({"incomplete", "in_progress"})
"""States of such an item; one that failed is whole, its tool said so."""
_ELSEWHERE: Final = "the provider keeps what is not here"
_CUT: Final = "the answer was not finished"


class _Part(NamedTuple):
    path: str
    action: str
    detail: str
    at: Placed | None = None


def tell_partial(payload: Any, envelopes: Sequence[MessageEnvelope], dialect: str, report: Report) -> None:
    """Report what says that a history is not whole.

    Args:
        payload: What was read.
        envelopes: What was read from it.
        dialect: Name of the dialect.
        report: Is given the losses.
    """
    found = [*_kept(payload, dialect), *_stopped(envelopes, dialect)]
    if dialect == "openai-responses":
        found += _responses(payload)
    elif dialect in _CHOICES:
        found += _choices(payload)
    for path, action, detail, at in found:
        report.add(PARTIAL.rule, PARTIAL.kind, action=action, at=at, path=path, detail=detail)


def _kept(payload: Any, dialect: str) -> Iterator[_Part]:
    """Yield the keys of requests that name what the provider keeps."""
    names = _KEPT.get(dialect)
    if not names:
        return
    for root, request in _requests(payload):
        for key, value in request.items():
            told = names.get(camel(str(key)) if dialect == "google" else key)
            if told and value:
                yield _Part(f"{root}{key}", _ELSEWHERE, told)


def _requests(payload: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield a request, or each of a list of them, and the settings that stand inside."""
    listed = payload if isinstance(payload, list) else [payload]
    for at, one in enumerate(listed):
        if isinstance(one, Mapping):
            root = f"[{at}]." if listed is payload else ""
            yield root, one
            if isinstance(one.get("config"), Mapping):
                yield f"{root}config.", one["config"]


def _stopped(envelopes: Sequence[MessageEnvelope], dialect: str) -> Iterator[_Part]:
    """Yield the answers that say that they were cut off."""
    path = _STOPS.get(dialect)
    for index, envelope in enumerate(envelopes) if path else ():
        reason = _otel_stop(envelope) if dialect == "otel" else envelope.get("stop_reason")
        if path and _is_cut(reason):
            yield _Part(path, _CUT, str(reason), Placed(envelope, index))


def _otel_stop(envelope: MessageEnvelope) -> Any:
    """Return why a message of a trace says that it ended; an export of ours told of it when it was made."""
    own = (envelope.get("extras") or {}).get("otel")
    return own.get("finish_reason") if isinstance(own, Mapping) else None


def _is_cut(reason: Any) -> bool:
    return isinstance(reason, str) and reason.lower() in _CUT_OFF


def _choices(payload: Any) -> Iterator[_Part]:
    choices = payload.get("choices") if isinstance(payload, Mapping) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    if isinstance(first, Mapping) and _is_cut(first.get("finish_reason")):
        yield _Part("choices[0].finish_reason", _CUT, first["finish_reason"])


def _responses(payload: Any) -> Iterator[_Part]:
    """Yield what a response, or items of the Responses API, say of themselves."""
    whole: Mapping[str, Any] = payload if isinstance(payload, Mapping) else {}
    state = str(whole.get("status"))
    if "output" in whole and state in _UNFINISHED:
        yield _Part("status", _CUT, ", ".join([state, *_reasons(whole)]))
        return
    root = "output" if "output" in whole else "input" if whole else ""
    items = whole.get(root) if whole else payload
    listed = [item if isinstance(item, Mapping) else {} for item in items] if isinstance(items, list) else []
    held = {str(item.get("id")) for item in listed if item.get("type") != "item_reference"}
    for at, item in enumerate(listed):
        if item.get("type") == "item_reference" and str(item.get("id")) not in held:
            yield _Part(f"{root}[{at}]", _ELSEWHERE, f"the item {item.get('id')}")
        elif str(item.get("status")) in _OF_ITEMS:
            yield _Part(f"{root}[{at}].status", _CUT, str(item["status"]))


def _reasons(response: Mapping[str, Any]) -> Iterator[str]:
    """Yield why a response is not finished: a reason, or the code of an error."""
    for key, word in (("incomplete_details", "reason"), ("error", "code")):
        details = response.get(key)
        if isinstance(details, Mapping) and isinstance(details.get(word), str):
            yield details[word]
