"""What langchain-openai does to items of the Responses API. Source: langchain-openai 1.7, `chat_models/_compat.py`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

_Block = dict[str, Any]
_SERVER: Final = ("server_tool_call", "server_tool_result")
_STATUS: Final = {"success": "completed", "error": "failed"}


def touches(block: Mapping[str, Any]) -> bool:
    """True for a block that `undo` or `joined` may change."""
    kind = block.get("type")
    if kind == "text":
        return "annotations" in block
    if kind == "reasoning":
        return "reasoning" not in block and "summary" not in block
    if kind == "tool_call":
        return isinstance(block.get("args"), dict) and _CALL_KEYS.issuperset(block)
    return kind in _SERVER or (kind == "image" and str(block.get("id")).startswith("ig_"))


_CALL_KEYS: Final = frozenset({"type", "id", "name", "args", "extras", "index"})


def undo(block: _Block) -> _Block:
    """Return the block as the API gave it."""
    if block["type"] == "text" and isinstance(block["annotations"], list):
        return {**block, "annotations": [annotation(note) for note in block["annotations"]]}
    if block["type"] == "image" and isinstance(block.get("base64"), str):
        status = {key: value for key, value in _extras(block).items() if key == "status"}
        return {"type": "image_generation_call", "id": block["id"], "result": block["base64"], **status}
    if block["type"] == "reasoning":
        return {**block, "reasoning": ""}
    if block["type"] == "tool_call":
        return _call(block)
    return _of_search(block) if block["type"] in _SERVER else block


def _call(block: _Block) -> _Block:
    """Return the item of a call, whose arguments models write, and the integration sends, without blanks."""
    extras = dict(_extras(block))
    item_id = {"id": extras.pop("item_id")} if isinstance(extras.get("item_id"), str) else {}
    text = extras.pop("arguments", None) or json.dumps(block["args"], ensure_ascii=False, separators=(",", ":"))
    named = {"call_id": block.get("id"), "name": block.get("name"), "arguments": text}
    return {"type": "function_call", **item_id, **named, **extras}


def _of_search(block: _Block) -> _Block:
    """Return the item of a search for tools, whose result is an item of its own."""
    extras = dict(_extras(block))
    name = extras.pop("name", None)
    if block["type"] == "server_tool_call" and block.get("name") == "tool_search":
        return {"type": "tool_search_call", "id": block.get("id"), "arguments": block.get("args"), **extras}
    tools = block["output"].get("tools") if isinstance(block.get("output"), dict) else None
    if block["type"] == "server_tool_call" or name != "tool_search" or tools is None:
        return block
    status = _STATUS.get(str(block.get("status")), "completed")
    return {"type": "tool_search_output", "id": block.get("tool_call_id"), "tools": tools, "status": status, **extras}


def _extras(block: Mapping[str, Any]) -> Mapping[str, Any]:
    found = block.get("extras")
    return found if isinstance(found, dict) else {}


def annotation(note: Any) -> Any:
    """Spell a v1 citation as an annotation of the API; anything else is returned as it is."""
    if not isinstance(note, dict) or note.get("type", "citation") != "citation":
        return note["value"] if isinstance(note, dict) and "value" in note else note
    extras = {"index" if key == "file_index" else key: value for key, value in _extras(note).items()}
    kind = extras.get("type") or ("url_citation" if "url" in note else None)
    kind = kind or ("container_file_citation" if "container_id" in extras else "file_citation")
    title = "title" if kind == "url_citation" else "filename"
    names = (("start_index", "start_index"), ("end_index", "end_index"), ("url", "url"), ("title", title))
    return {"type": kind, **{to: note[key] for key, to in names if key in note}, **extras}


def joined(content: list[Any]) -> Iterator[Any]:
    """Make one item of a server tool's call and the result behind it, as the API has it."""
    held: Any = None
    for block in content:
        kind = block.get("type") if isinstance(block, dict) else None
        item = _item(held, block) if held is not None and kind == "server_tool_result" else None
        if held is not None and item is None:
            yield held
        held = block if kind == "server_tool_call" else None
        if item is not None or held is None:
            yield block if item is None else item
    if held is not None:
        yield held


def _item(call: Mapping[str, Any], answer: Mapping[str, Any]) -> _Block | None:
    """Return the item of a call and its result; None where they are no pair that the API has an item for."""
    make = _ITEMS.get(str(call.get("name")))
    if make is None or answer.get("tool_call_id") != call.get("id"):
        return None
    item: _Block = {"id": call.get("id"), **make(call, answer)}
    status = _STATUS.get(str(answer.get("status"))) or _extras(answer).get("status")
    return {**item, "status": status} if status and item["type"] not in _WITHOUT_STATUS else item


_WITHOUT_STATUS: Final = ("mcp_call", "mcp_list_tools")


def _args(call: Mapping[str, Any], *keys: str) -> _Block:
    args = call.get("args")
    return {key: args[key] for key in keys if key in args} if isinstance(args, dict) else {}


def _named(answer: Mapping[str, Any], name: str) -> _Block:
    return {name: answer["output"]} if "output" in answer else {}


def _searched(call: Mapping[str, Any], answer: Mapping[str, Any]) -> _Block:
    output = answer.get("output")
    sources = {"sources": output["sources"]} if isinstance(output, dict) and "sources" in output else {}
    return {"type": "web_search_call", "action": call.get("args"), **sources}  # sources are told, not sent back


def _found_files(call: Mapping[str, Any], answer: Mapping[str, Any]) -> _Block:
    return {"type": "file_search_call", **_args(call, "queries"), **_named(answer, "results")}


def _interpreted(call: Mapping[str, Any], answer: Mapping[str, Any]) -> _Block:
    place = call.get("container_id") or _extras(call).get("container_id")
    where = {"container_id": place} if place else {}
    return {"type": "code_interpreter_call", **_args(call, "code"), **where, **_named(answer, "outputs")}


def _called(call: Mapping[str, Any], answer: Mapping[str, Any]) -> _Block:
    extras = _extras(call)
    text = extras.get("arguments") or json.dumps(call.get("args") or {}, ensure_ascii=False, separators=(",", ":"))
    kept = {key: value for key, value in extras.items() if key not in ("arguments", "tool_name")}
    named = {"type": "mcp_call", "name": extras.get("tool_name"), "arguments": text}
    return {**named, **kept, **_error(answer), **_named(answer, "output")}


def _listed(call: Mapping[str, Any], answer: Mapping[str, Any]) -> _Block:
    return {"type": "mcp_list_tools", **_extras(call), **_error(answer), **_named(answer, "tools")}


def _error(answer: Mapping[str, Any]) -> _Block:
    error = _extras(answer).get("error")
    return {"error": error} if error else {}


_ITEMS: Final[Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Any]], _Block]]] = {
    "web_search": _searched,
    "file_search": _found_files,
    "code_interpreter": _interpreted,
    "remote_mcp": _called,
    "mcp_list_tools": _listed,
}
