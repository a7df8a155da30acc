"""Hypothesis strategies for native histories of OpenAI and Anthropic: whole ones, as a client would send them."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

WORDS = st.sampled_from(["hi", "Prüfe das", "1 + 1", "see 漢字", "line\nbreak", "{}", "[image]"])
NAMES = st.sampled_from(["search", "get-weather", "read_file"])
ARGS = st.dictionaries(st.sampled_from("abc"), st.integers(0, 9) | WORDS, max_size=2)
PNG = "iVBORw0KGgo="


@st.composite
def turns(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Plain data of some turns: question, steps of parallel calls with results, answer."""
    count = iter(range(1_000))
    return [
        {
            "question": draw(WORDS),
            "image": draw(st.booleans()),
            "steps": [
                {
                    "text": draw(st.none() | WORDS),
                    "thinking": draw(st.none() | WORDS),
                    "calls": [
                        {"id": next(count), "name": draw(NAMES), "args": draw(ARGS), "result": draw(WORDS)}
                        for _ in range(draw(st.integers(1, 3)))
                    ],
                }
                for _ in range(draw(st.integers(0, 2)))
            ],
            "answer": draw(WORDS),
            "thinking": draw(st.none() | WORDS),
        }
        for _ in range(draw(st.integers(1, 3)))
    ]


def chat(made: list[dict[str, Any]]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}]
    for turn in made:
        content: Any = turn["question"]
        if turn["image"]:
            image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
            content = [{"type": "text", "text": content}, image]
        messages.append({"role": "user", "content": content})
        for step in turn["steps"]:
            calls = [
                {
                    "id": f"call_{call['id']}",
                    "type": "function",
                    "function": {"name": call["name"], "arguments": json.dumps(call["args"])},
                }
                for call in step["calls"]
            ]
            messages.append({"role": "assistant", "content": step["text"], "tool_calls": calls})
            messages += [
                {"role": "tool", "tool_call_id": f"call_{call['id']}", "content": call["result"]}
                for call in step["calls"]
            ]
        messages.append({"role": "assistant", "content": turn["answer"]})
    return messages


def responses(made: list[dict[str, Any]]) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = [{"role": "developer", "content": "Be brief."}]
    ids = iter(range(1_000))

    def reasoning(text: str | None) -> list[dict[str, Any]]:
        if text is None:
            return []
        summary = [{"type": "summary_text", "text": text}]
        return [{"type": "reasoning", "id": f"rs_{next(ids)}", "summary": summary, "encrypted_content": "sealed"}]

    def message(text: str) -> dict[str, Any]:
        part = {"type": "output_text", "text": text, "annotations": []}
        head = {"type": "message", "id": f"msg_{next(ids)}", "role": "assistant", "status": "completed"}
        return {**head, "content": [part]}

    for turn in made:
        parts: list[dict[str, Any]] = [{"type": "input_text", "text": turn["question"]}]
        if turn["image"]:
            parts.append({"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "auto"})
        items.append({"role": "user", "content": parts})
        for step in turn["steps"]:
            items += reasoning(step["thinking"])
            items += [message(step["text"])] if step["text"] else []
            for call in step["calls"]:
                head = {"type": "function_call", "id": f"fc_{next(ids)}", "call_id": f"call_{call['id']}"}
                items.append({**head, "name": call["name"], "arguments": json.dumps(call["args"])})
            for call in step["calls"]:
                head = {"type": "function_call_output", "call_id": f"call_{call['id']}"}
                items.append({**head, "output": call["result"]})
        items += [*reasoning(turn["thinking"]), message(turn["answer"])]
    return items


def anthropic(made: list[dict[str, Any]]) -> dict[str, Any]:
    def thinking(text: str | None) -> list[dict[str, Any]]:
        return [] if text is None else [{"type": "thinking", "thinking": text, "signature": "sig"}]

    messages: list[dict[str, Any]] = []
    for turn in made:
        content: Any = turn["question"]
        if turn["image"]:
            source = {"type": "base64", "media_type": "image/png", "data": PNG}
            content = [{"type": "text", "text": content}, {"type": "image", "source": source}]
        messages.append({"role": "user", "content": content})
        for step in turn["steps"]:
            blocks = thinking(step["thinking"])
            blocks += [{"type": "text", "text": step["text"]}] if step["text"] else []
            blocks += [
                {"type": "tool_use", "id": f"toolu_{call['id']}", "name": call["name"], "input": call["args"]}
                for call in step["calls"]
            ]
            results = [
                {"type": "tool_result", "tool_use_id": f"toolu_{call['id']}", "content": call["result"]}
                for call in step["calls"]
            ]
            messages += [{"role": "assistant", "content": blocks}, {"role": "user", "content": results}]
        answer = [*thinking(turn["thinking"]), {"type": "text", "text": turn["answer"]}]
        messages.append({"role": "assistant", "content": answer})
    return {"system": "Be brief.", "messages": messages}


NATIVE = {"openai-chat": chat, "openai-responses": responses, "anthropic": anthropic}
