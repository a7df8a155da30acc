"""Keys and words of the items and parts of the Responses API that the SDK knows: tables.

What other rules ask of an item, its ids among it, is not asked again here; nor what the API itself does without: id and
status of a message, detail of an image.

Source: openai 3.57, response_input_item_param.py and the types that it names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .shapes import Shape, shape, words

PHASES: Final = words("commentary final_answer")
_STATUS: Final = words("in_progress completed incomplete")
_SEARCH: Final = words("in_progress searching completed incomplete failed")
_PAINT: Final = words("in_progress completed generating failed")
_INTERPRET: Final = words("in_progress completed incomplete interpreting failed")
_REMOTE: Final = words("in_progress completed incomplete calling failed")
_PATCH: Final = words("in_progress completed")
_PATCHED: Final = words("completed failed")
_DONE: Final = words("completed incomplete")
_SIDE: Final = words("server client")

ITEMS: Final[Mapping[str, Shape]] = {
    "message": shape("type role content id status phase", status=_STATUS),
    "reasoning": shape("type id summary! content encrypted_content status", summary=list, status=_STATUS),
    "function_call": shape(
        "type id call_id name arguments caller namespace async status", namespace=str, status=_STATUS
    ),
    "function_call_output": shape("type id call_id output caller name namespace status", status=_STATUS),
    "custom_tool_call": shape("type id call_id name! input! caller namespace async", name=str, input=str),
    "custom_tool_call_output": shape("type id call_id output caller"),
    "web_search_call": shape("type id action status", status=_SEARCH),
    "file_search_call": shape("type id queries! status results", queries=list, status=_SEARCH),
    "code_interpreter_call": shape("type id code container_id outputs status", status=_INTERPRET),
    "image_generation_call": shape(
        "type id result status action background error output_format quality revised_prompt size svg_usage",
        status=_PAINT,
    ),
    "computer_call": shape(
        "type id call_id pending_safety_checks status action actions", pending_safety_checks=list, status=_STATUS
    ),
    "computer_call_output": shape("type id call_id output! acknowledged_safety_checks status", status=_STATUS),
    "local_shell_call": shape("type id call_id action! status", status=_STATUS),
    "local_shell_call_output": shape("type id output! status", output=str, status=_STATUS),
    "shell_call": shape("type id call_id action! caller environment status", status=_STATUS),
    "shell_call_output": shape("type id call_id output! caller max_output_length status", output=list, status=_STATUS),
    "apply_patch_call": shape("type id call_id operation! caller status", status=_PATCH),
    "apply_patch_call_output": shape("type id call_id caller output status", output=str, status=_PATCHED),
    "mcp_list_tools": shape("type id server_label! tools! error", server_label=str, tools=list),
    "mcp_call": shape(
        "type id server_label! name! arguments! approval_request_id error output status",
        name=str,
        arguments=str,
        status=_REMOTE,
    ),
    "mcp_approval_request": shape("type id server_label! name! arguments!", name=str, arguments=str),
    "mcp_approval_response": shape("type id approval_request_id! approve! reason", approve=bool),
    "tool_search_call": shape("type id call_id arguments execution status", execution=_SIDE, status=_STATUS),
    "tool_search_output": shape("type id call_id tools! execution status", tools=list, execution=_SIDE, status=_STATUS),
    "additional_tools": shape("type id role! tools!", tools=list),
    "configuration_update": shape("type id reasoning text"),
    "compaction": shape("type id encrypted_content"),
    "compaction_trigger": shape("type id"),
    "item_reference": shape("type id!", id=str),
    "program": shape("type id call_id code! fingerprint", code=str),
    "program_output": shape("type id call_id result! status", status=_DONE),
}
"""By item type; an item without one is a message."""

_IMAGE_DETAIL: Final = words("low high auto original")
_FILE_DETAIL: Final = words("auto low high")
PARTS: Final[Mapping[str, Shape]] = {
    "input_text": shape("type text! prompt_cache_breakpoint", text=str),
    "input_image": shape(
        "type detail file_id image_url prompt_cache_breakpoint", detail=_IMAGE_DETAIL, file_id=str, image_url=str
    ),
    "input_file": shape(
        "type detail file_data file_id file_url filename prompt_cache_breakpoint",
        detail=_FILE_DETAIL,
        file_data=str,
        file_id=str,
        file_url=str,
        filename=str,
    ),
    "input_audio": shape("type input_audio! prompt_cache_breakpoint"),
    "output_text": shape("type text! annotations logprobs", text=str, annotations=list),
    "refusal": shape("type refusal!", refusal=str),
    "summary_text": shape("type text!", text=str),
    "reasoning_text": shape("type text!", text=str),
}
"""Parts of messages, outputs and reasoning."""
INTERPRETED: Final[Mapping[str, Shape]] = {
    "logs": shape("type! logs!", logs=str),
    "image": shape("type! url!", url=str),
}
"""What a code interpreter may put out."""
OUTPUT_PARTS: Final = words("input_text input_image input_file")
"""Parts that the output of a function may hold."""
TEXT_OUTPUTS: Final = words("function_call_output custom_tool_call_output")
"""Outputs that are a text or such parts."""
HOLD_PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "message": ("content",),
    "reasoning": ("summary", "content"),
    **dict.fromkeys(sorted(TEXT_OUTPUTS), ("output",)),
}
"""Keys of items that hold such parts."""
