"""Whether a map that came from outside is a message envelope: its words hold what the published schema says.

Owns the checks of the neutral part. What `state` holds is for the rebuilding of a message to judge, which proves it.

Source: schemas/message-envelope.schema.json.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from langgraph_portable_checkpoint.envelope.model import BLOCK_TYPES, ROLES
from langgraph_portable_checkpoint.envelope.typed import well_typed

Check = Callable[[Any], bool]


def _is(*types: type) -> Check:
    return lambda value: isinstance(value, types)


_TEXT_OR_NULL: Final = _is(str, type(None))
_FIELDS: Final[Mapping[str, Check]] = {
    "role": ROLES.__contains__,
    "content": _is(list),
    **dict.fromkeys(("id", "name", "tool_call_id", "status", "stop_reason"), _TEXT_OR_NULL),
    **dict.fromkeys(("origin", "usage", "extras"), _is(dict)),
    **dict.fromkeys(("role_detail", "created_at"), _is(str)),
    "typed_by_user": _is(bool),
    "state": _is(dict, type(None)),
}


def problems_of(envelope: Mapping[str, Any]) -> list[str]:
    """Name the fields that do not hold what an envelope has there, in order; none where it is one."""
    wrong = [name for name in ("role", "content") if name not in envelope]
    wrong += [name for name, check in _FIELDS.items() if name in envelope and not check(envelope[name])]
    return wrong if "content" in wrong else [*wrong, *_problems_of_blocks(envelope["content"])]


def _problems_of_blocks(blocks: list[Any]) -> Iterator[str]:
    for at, block in enumerate(blocks):
        if not isinstance(block, dict):
            yield f"content[{at}]"
        elif block.get("type") not in BLOCK_TYPES:
            yield f"content[{at}].type"
        elif not well_typed(block):
            yield f"a field of content[{at}]"
