"""Parts that a provider's LangChain integration sends only in a spelling of its own.

An integration drops without a word what it does not know, or sends it as another thing. So a part that LangChain's
standard blocks cannot say to it is spelled here as the integration makes it from an answer.
Sources: `_convert_ai_message_content` and `_parse_response_candidate` of langchain-google-genai,
`_lc_content_to_bedrock` of langchain-aws, `_construct_responses_api_input` of langchain-openai.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

_Block = Mapping[str, Any]
_Standard = Callable[[_Block], dict[str, Any]]

_ONLY_CONVERSE: Final = ("audio", "guardContent")
_PLAIN_DOCUMENT: Final = frozenset({"format", "name", "source"})
_IN_RESPONSES_CONTENT: Final = ("function_call", "custom_tool_call", "computer_call")
_SCREENSHOT: Final = "computer_call_output"
_CUSTOM_OUTPUT: Final = "custom_tool_call_output"


def of_gemini(block: _Block, standard: _Standard) -> dict[str, Any]:
    """Spell an answer's part as langchain-google-genai does, or in LangChain's block where that says it all."""
    signature = (block.get("extras") or {}).get("signature")
    match block["type"]:
        case "reasoning":
            thought = {"type": "thinking", "thinking": block.get("reasoning") or ""}
            return thought | ({"signature": signature} if signature else {})
        case "server_tool_call":
            args = block.get("args") or {}
            return {
                "type": "executable_code",
                "executable_code": args.get("code", ""),
                "language": args.get("language") or "PYTHON",
            }
        case "server_tool_result":
            told = block["output"]
            result = {"code_execution_result": told.get("output", ""), "outcome": told.get("outcome", "OUTCOME_OK")}
            return {"type": "code_execution_result", **result}
        case "image" if signature and (encoded := standard(block).get("base64")):
            url = f"data:{block.get('mime_type') or 'image/png'};base64,{encoded}"
            return {"type": "image_url", "image_url": {"url": url}, "extras": {"signature": signature}}
    return standard(block)


def gemini_spells(block: _Block) -> bool:
    """True unless a part is of a tool that langchain-google-genai reads in LangChain's blocks alone, or in none."""
    if not block["type"].startswith("server_tool"):
        return True
    known = isinstance(block.get("output", {}), dict) and isinstance(block.get("args", {}), dict)
    return known and block.get("name", "code_execution") == "code_execution"


def converse_spells(block: _Block) -> bool:
    """True unless a part is of a tool that the model's server ran."""
    return not block["type"].startswith("server_tool")


def of_converse(block: _Block, standard: _Standard, *, answers: bool, spelled: bool) -> list[dict[str, Any]]:
    """Spell a part as langchain-aws takes it from Converse, or in LangChain's block; its cache point comes after it.

    Args:
        block: Any block but a call.
        standard: Makes LangChain's block.
        answers: The model said it.
        spelled: The message is without LangChain's v1 blocks.
    """
    found = _converse_part(block, answers=answers)
    if spelled and not found and block["type"] == "reasoning":
        found = _converse_thought(block)
    parts = [found or standard(block)]
    hint = block.get("cache_hint")
    if isinstance(hint, dict) and hint.keys() == {"cachePoint"}:
        parts.append({"type": "non_standard", "value": hint} if answers else hint)
    return parts


def _converse_part(block: _Block, *, answers: bool) -> dict[str, Any] | None:
    raw = block.get("raw")
    if not isinstance(raw, dict) or len(raw) != 1:
        return None
    [(key, value)] = raw.items()
    if not isinstance(value, dict):
        return None
    if key in _ONLY_CONVERSE or (key == "reasoningContent" and "redactedContent" in value):
        return {"type": "non_standard", "value": raw} if answers else raw
    if key == "citationsContent" and answers and isinstance(value.get("citations"), list):
        return {"type": "text", "text": block.get("text") or "", "citations": value["citations"]}
    source = value.get("source")
    if isinstance(source, dict) and "s3Location" in source:  # the standard blocks are taken by their bytes alone
        return {"type": "non_standard", "value": raw} if answers else raw
    if key == "document" and not value.keys() <= _PLAIN_DOCUMENT:
        return {"type": "document", "document": value}
    return None


def _converse_thought(block: _Block) -> dict[str, Any]:
    signature = (block.get("extras") or {}).get("signature")
    thought = {"text": block.get("reasoning") or "", **({"signature": signature} if signature else {})}
    return {"type": "reasoning_content", "reasoning_content": thought}


def of_responses_text(block: _Block, standard: dict[str, Any]) -> dict[str, Any]:
    """Add the phase of a text's message, which langchain-openai keeps beside the text."""
    item = (block.get("extras") or {}).get("item")
    phase = item.get("phase") if isinstance(item, dict) else None
    return standard | ({"phase": phase} if isinstance(phase, str) else {})


def in_responses_content(block: _Block) -> bool:
    """True for a call that langchain-openai sends back as the item that stands in content.

    Any other stands in `.tool_calls` alone, and goes back as a function call, as its output does.
    """
    return isinstance(block.get("raw"), dict) and block["raw"].get("type") in _IN_RESPONSES_CONTENT


def is_computer_call(block: _Block, api: str) -> bool:
    """True for what langchain-openai keeps out of `.tool_calls`, since it would go back twice."""
    return api == "responses" and isinstance(block.get("raw"), dict) and block["raw"].get("type") == "computer_call"


def responses_output(item: Any, blocks: Sequence[_Block]) -> tuple[list[Any], dict[str, Any]] | None:
    """Spell the output of a computer's or a custom call; None for a function's.

    Args:
        item: What the output says beside its content.
        blocks: Its content.

    Returns:
        The message's content and its `additional_kwargs`.
    """
    kind = item.get("type") if isinstance(item, dict) else None
    if kind == _SCREENSHOT and isinstance(item.get("output"), dict):
        shown = {key: value for key, value in item["output"].items() if key in ("image_url", "file_id")}
        checks = {key: item[key] for key in ("acknowledged_safety_checks",) if key in item}
        return [{"type": "input_image", **shown}], {"type": _SCREENSHOT, **checks}
    if kind == _CUSTOM_OUTPUT and len(blocks) == 1 and blocks[0]["type"] == "text":
        return [{"type": _CUSTOM_OUTPUT, "output": blocks[0]["text"]}], {}
    return None
