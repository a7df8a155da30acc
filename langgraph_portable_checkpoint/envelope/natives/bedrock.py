"""Native blocks of Bedrock Converse, as the API gives them and as langchain-aws does.

Source: botocore 1.44 bedrock-runtime service model, ContentBlock; langchain-aws 1.9; rule B12.
"""

from __future__ import annotations

from typing import Final

from langgraph_portable_checkpoint.envelope.natives.kind import Kind, table_kind
from langgraph_portable_checkpoint.envelope.natives.standard import call_block, reasoning_block

BY_TYPE: Final[dict[str, tuple[Kind, ...]]] = {
    "reasoning_content": (
        table_kind(
            "reasoning_content",
            "reasoning",
            constants={"type": "reasoning_content"},
            fields={"reasoning_content.text": "reasoning", "reasoning_content.signature": "extras.signature"},
            after_read=reasoning_block,
        ),
    ),
}
BY_KEY: Final[dict[str, tuple[Kind, ...]]] = {
    "toolUse": (
        table_kind(
            "toolUse",
            "tool_call",
            fields={"toolUse.toolUseId": "id", "toolUse.name": "name", "toolUse.input": "args"},
            after_read=call_block,
        ),
    ),
    "reasoningContent": (
        table_kind(
            "reasoningContent",
            "reasoning",
            fields={
                "reasoningContent.reasoningText.text": "reasoning",
                "reasoningContent.reasoningText.signature": "extras.signature",
            },
            after_read=reasoning_block,
        ),
        table_kind(
            "redactedContent",
            "reasoning",
            fields={"reasoningContent.redactedContent": "extras.redacted_data"},
            fixed={"reasoning": ""},
        ),
    ),
}
