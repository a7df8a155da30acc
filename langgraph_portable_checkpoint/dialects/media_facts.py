"""What a media block says of itself, in one spelling: its bytes as base64, its mime type, whose upload it names.

Messages that applications write themselves hold data URLs with parameters, base64 of the URL-safe alphabet, mime types
in capitals or none; providers refuse those. Pure.
"""

from __future__ import annotations

import base64
import re
from binascii import a2b_base64
from collections.abc import Mapping
from typing import Any, Final, cast
from urllib.parse import unquote_to_bytes

from ..envelope.media_types import ALIASES, OCTET_STREAM, sniff
from ..envelope.model import Block, MessageEnvelope
from .reasoning import origin_of

_BASE64: Final = re.compile("[A-Za-z0-9+/]+={0,2}")
_ALIASES: Final = {alias: name for alias, name in ALIASES.items() if not alias.startswith("audio/")}
"""What no provider calls its own; some know a sound by one name alone."""
_UNTOLD: Final = frozenset({"", "none", OCTET_STREAM, "binary/octet-stream"})


def settled(block: Block) -> tuple[Block, bool]:
    """Return a media block with its data URL taken apart, base64 and mime type as providers spell them.

    The same object if nothing changes; and whether its bytes are there and can be decoded. What cannot stays as it is.
    """
    found = _named(_apart(block))
    encoded = found.get("base64")
    readable = isinstance(encoded, str) and _is_base64(encoded)
    if isinstance(encoded, str) and not readable:
        again = _encoded_again(encoded)
        readable = bool(again)
        found = found if again is None else _changed(found, base64=again)
    mime_type = _mime_type(found)
    found = found if mime_type == found.get("mime_type") or not mime_type else _changed(found, mime_type=mime_type)
    return found, readable or bool(found.get("data"))


def text_of_file(block: Block) -> Block | None:
    """Return a file of text as a plain-text document, whose text is its own; None for any other block."""
    mime_type = (block.get("mime_type") or "").partition(";")[0].strip().lower()
    if block["type"] != "file" or not (mime_type.startswith("text/") or mime_type in _TEXTS):
        return None
    try:
        data = block["data"] if "data" in block else a2b_base64(block.get("base64") or "", strict_mode=True)
        text = data.decode("utf-8")
    except ValueError:
        return None
    kept = {key: value for key, value in block.items() if key not in ("data", "base64", "raw")}
    return cast(Block, {**kept, "type": "text-plain", "text": text, "mime_type": mime_type}) if text.strip() else None


_TEXTS: Final = frozenset({"application/json", "application/xml", "application/yaml", "application/x-yaml"})
"""Types of texts that do not say so."""


def without_parameters(block: Block) -> Block:
    """Return a block whose mime type is the bare type: "image/png" for "image/png;charset=x"."""
    bare = (block.get("mime_type") or "").partition(";")[0].strip()
    return block if bare == (block.get("mime_type") or "") else _changed(block, mime_type=bare)


def uploader_of(block: Block, envelope: MessageEnvelope) -> str | None:
    """Return whose upload a block names: by its origin, else by the shape that only one provider has.

    Source: OpenAI file ids start with "file-", Anthropic's with "file_", Gemini's are names or URIs under files/.
    """
    provider = origin_of(block, envelope).get("provider")
    return provider or _by_shape(block.get("raw")) or _by_id(str(block.get("file_id") or ""))


def _by_shape(raw: Any) -> str | None:
    if not isinstance(raw, Mapping):
        return None
    if raw.get("type") in ("input_file", "input_image") or isinstance(raw.get("file"), Mapping):
        return "openai"
    return "anthropic" if isinstance(raw.get("source"), Mapping) else None


def _by_id(file_id: str) -> str | None:
    if file_id.startswith("files/") or ("generativelanguage.googleapis.com" in file_id and "/files/" in file_id):
        return "google"
    return next((provider for prefix, provider in _PREFIXES if file_id.startswith(prefix)), None)


_PREFIXES: Final = (("file-", "openai"), ("assistant-", "openai"), ("file_", "anthropic"))
"""What ids of uploads begin with; Azure's deployments of OpenAI have one of their own."""


def _changed(block: Block, **changes: Any) -> Block:
    return cast(Block, {key: value for key, value in block.items() if key != "raw"} | changes)


def _is_base64(encoded: str) -> bool:
    if not encoded or len(encoded) % 4 or encoded.endswith("==="):
        return False
    try:
        a2b_base64(encoded, strict_mode=True)  # takes a tenth of the time of a pattern
    except ValueError:
        return False
    return True


def _encoded_again(encoded: str) -> str | None:
    """Spell base64 of another alphabet, without padding or with line breaks, as usual; None if it is none."""
    bare = "".join(encoded.split()).rstrip("=").translate(str.maketrans("-_", "+/"))
    if not _BASE64.fullmatch(bare) or len(bare) % 4 == 1:
        return None
    return base64.b64encode(base64.b64decode(bare + "=" * (-len(bare) % 4))).decode()


def _apart(block: Block) -> Block:
    """Take a data URL apart; its own mime type counts where the block names none."""
    url = block.get("url")
    if not isinstance(url, str) or url[:5].lower() != "data:":
        return block
    head, comma, body = url[5:].partition(",")
    if not comma:
        return block
    is_base64 = head.lower().endswith(";base64")
    mime_type = block.get("mime_type") or (head[:-7] if is_base64 else head)
    encoded = body if is_base64 else base64.b64encode(unquote_to_bytes(body)).decode()
    kept = {key: value for key, value in block.items() if key != "url"}
    return cast(Block, {**kept, "base64": encoded} | ({"mime_type": mime_type} if mime_type else {}))


def _named(block: Block) -> Block:
    """Take a file's name from where messages of LangChain keep it.

    Source: langchain-core 1.8, messages/block_translators/openai.py, convert_to_openai_data_block; langchain-aws 1.9,
    bedrock_converse.py, which reads `name`.
    """
    extras: Any = block.get("extras")
    if block.get("filename") or not isinstance(extras, Mapping):
        return block
    key = next(
        (key for key in ("filename", "name") if isinstance(extras.get(key), str) and block["type"] == "file"), None
    )
    if key is not None:
        return _changed(block, filename=extras[key], extras={one: extras[one] for one in extras if one != key})
    metadata: Any = extras.get("metadata")
    name = metadata.get("filename") if isinstance(metadata, Mapping) else None
    if not isinstance(name, str):
        return block
    rest = {key: value for key, value in metadata.items() if key != "filename"}
    others = {key: value for key, value in extras.items() if key != "metadata"} | ({"metadata": rest} if rest else {})
    return _changed(block, filename=name, extras=others)


def _mime_type(block: Block) -> str:
    """Return the mime type in lower case under its registered name; told from the bytes where it is not known."""
    kind, semicolon, parameters = str(block.get("mime_type") or "").strip().partition(";")
    kind = kind.strip().lower()
    if kind in _UNTOLD:
        return _sniffed(block) or str(block.get("mime_type") or "")
    name = _ALIASES.get(kind, kind)
    return name if kind.startswith("image/") else name + semicolon + parameters


def _sniffed(block: Block) -> str | None:
    head = block["data"][:16] if block.get("data") else _decoded_head(block)
    found = sniff(head)
    fits = found is not None and (block["type"] == "file" or found.startswith(f"{block['type']}/"))
    return found if fits else None


def _decoded_head(block: Block) -> bytes:
    encoded = block.get("base64")
    return base64.b64decode(encoded[:24]) if isinstance(encoded, str) and _is_base64(encoded) else b""
