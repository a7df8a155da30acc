"""Item types of the Responses API: a table of what each is to a conversation.

Source: openai 3.57 ResponseInputItemParam; rules R3, R5, R9.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

NAME: Final = "openai-responses"
API: Final = "responses"


@dataclass(frozen=True, kw_only=True)
class CallType:
    """A call that the client answers.

    Attributes:
        output: Item type of its result (R3).
        prefix: What its item id begins with (R5).
        name: Neutral tool name where the item carries none.
        args: Key of the item that holds what is asked for.
        own_output: Its result has a form of its own; a text cannot stand for it.
    """

    output: str
    prefix: str
    name: str = ""
    args: str = ""
    own_output: bool = False


CALLS: Final[Mapping[str, CallType]] = {
    "function_call": CallType(output="function_call_output", prefix="fc_"),
    "custom_tool_call": CallType(output="custom_tool_call_output", prefix="ctc_"),
    "computer_call": CallType(
        output="computer_call_output", prefix="cu_", name="computer", args="action", own_output=True
    ),
    "shell_call": CallType(output="shell_call_output", prefix="sh_", name="shell", args="action", own_output=True),
    "local_shell_call": CallType(
        output="local_shell_call_output", prefix="lsh_", name="local_shell", args="action", own_output=True
    ),
    "apply_patch_call": CallType(
        output="apply_patch_call_output", prefix="apc_", name="apply_patch", args="operation", own_output=True
    ),
}
OUTPUTS: Final[Mapping[str, str]] = {call.output: kind for kind, call in CALLS.items()}
"""Call type by output type."""

HOSTED: Final[Mapping[str, tuple[str, str]]] = {
    "web_search_call": ("web_search", "action"),
    "file_search_call": ("file_search", "queries"),
    "code_interpreter_call": ("code_interpreter", "code"),
    "image_generation_call": ("image_generation", ""),
    "mcp_call": ("mcp", "arguments"),
    "tool_search_call": ("tool_search", "arguments"),
    "program": ("program", "code"),
}
"""Items of tools that the provider runs: neutral name, and the key that holds what was asked for."""

WITHHELD: Final[Mapping[str, str]] = {"web_search_call": "sources"}
"""What langchain-openai keeps of an item beside it and does not send back, since the API refused it."""

NULLS: Final[Mapping[str, Mapping[str, None]]] = {
    "code_interpreter_call": {"code": None, "outputs": None},
    "image_generation_call": {"result": None},
}
"""Keys that an item must have though there is nothing to say; integrations leave them out."""

NEED_ID: Final = frozenset({*HOSTED, "computer_call", "local_shell_call", "mcp_list_tools", "mcp_approval_request"}) - {
    "tool_search_call",
    "program",
}
"""Items that a request may not hold without their id (the published OpenAPI)."""

USER_ITEMS: Final = frozenset(
    {"mcp_approval_response", "item_reference", "compaction_trigger", "additional_tools", "configuration_update"}
)
"""Items without a neutral place that the client, not the model, wrote. All other unknown items are the model's."""


def call_id_of(item: Mapping[str, Any]) -> Any:
    """Return the id that ties a call and its output; a local shell's output has it under `id`."""
    return item.get("call_id") if item.get("call_id") is not None else item.get("id")
