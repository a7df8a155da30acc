"""Recorded histories of real providers: media leave and come back, and nothing else does."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from langgraph_portable_checkpoint.media.references import find_references
from langgraph_portable_checkpoint.media.walk import fill, punch

MIN_BYTES = 1024
_LONG_BASE64 = re.compile(r"(data:[^,]{0,80};base64,)?[A-Za-z0-9+/_-]{1400,}={0,2}")
_OPAQUE_KEYS = {"thoughtSignature", "thought_signature", "signature", "encrypted_content", "encryptedContent", "data"}


def documents(file: Path) -> list[Any]:
    text = file.read_text(encoding="utf-8")
    return (
        [json.loads(line) for line in text.splitlines() if line.strip()]
        if file.suffix == ".jsonl"
        else [json.loads(text)]
    )


def long_strings(node: Any, key: str = "") -> list[tuple[str, str]]:
    """Every string that looks like base64, with the key it stands under: counted without the walk."""
    if isinstance(node, dict):
        return [found for name, child in node.items() for found in long_strings(child, name)]
    if isinstance(node, list):
        return [found for child in node for found in long_strings(child, key)]
    return [(key, node)] if isinstance(node, str) and _LONG_BASE64.fullmatch(node) else []


def test_every_recorded_medium_is_found_and_comes_back(corpus: Path) -> None:
    found, files = 0, 0
    for file in sorted(corpus.rglob("*.json*")):
        whole = documents(file)
        value, holes = punch(whole, select=lambda size, mime_type: True, min_bytes=MIN_BYTES)
        assert fill(value, holes, lambda hole: hole.data) == whole, file.name
        assert {key for key, _ in long_strings(value)} <= _OPAQUE_KEYS, file.name
        assert len(long_strings(whole)) - len(long_strings(value)) == len(holes), file.name
        assert all(hole.mime_type and hole.mime_type != "application/octet-stream" for hole in holes), file.name
        found += len(holes)
        files += 1
    assert files >= 90
    assert found >= 20


def test_reasoning_and_signatures_are_no_media(corpus: Path) -> None:
    opaque = 0
    for file in sorted(corpus.rglob("*.history.json")):
        whole = documents(file)
        for key, text in long_strings(whole):
            if key in _OPAQUE_KEYS - {"data"}:
                opaque += 1
                assert punch({key: text}, select=lambda size, mime_type: True).holes == ()
    assert opaque >= 10


def test_recorded_links_are_found(corpus: Path) -> None:
    kinds = {
        reference.kind for file in sorted(corpus.rglob("*.json")) for reference in find_references(documents(file))
    }
    assert "provider_file" in kinds or "url" in kinds
