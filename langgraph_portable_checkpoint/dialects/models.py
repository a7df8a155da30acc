"""What a target model can take: model families, and media tables narrowed by a langchain-core ModelProfile.

Knows how providers spell model names, and nothing of histories.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .base import MediaRule

_DATE: Final = re.compile(r"[-@](20\d{6}|20\d\d-\d\d-\d\d|latest|preview-\d\d-\d\d|v\d+:\d+|\d{4})$")
_REGION: Final = re.compile(r"^(us|eu|apac|global|jp|au)\.")
_VENDOR: Final = re.compile(r"^(anthropic|openai|google|mistral|mistralai|models|deepseek|moonshotai|x-ai)[./]")


@lru_cache(maxsize=256)
def model_family(name: str) -> str:
    """Return a model's name without region, vendor prefix, date and revision; Claude's with the version behind.

    >>> model_family("us.anthropic.claude-sonnet-4-5-20250929-v1:0")
    'claude-sonnet-4-5'
    >>> model_family("gpt-5-2025-08-07")
    'gpt-5'
    >>> model_family("claude-3-7-sonnet-latest")
    'claude-sonnet-3-7'
    """
    name = _VENDOR.sub("", _REGION.sub("", name.rpartition("accounts/fireworks/models/")[2].lower()))
    while (shorter := _DATE.sub("", name)) != name:
        name = shorter
    return _VERSION_FIRST.sub(r"claude-\2-\1", name)


def name_of_profile(profile: Mapping[str, Any]) -> str | None:
    """Return the name of the model that a ModelProfile is of, as its API spells it; None where that cannot be told.

    A profile has a name for readers. Claude's, Gemini's and GPT's tell the API's; others do not.

    >>> name_of_profile({"name": "Claude Sonnet 4.5 (latest)"}), name_of_profile({"name": "Nano Banana"})
    ('claude-sonnet-4-5', None)
    """
    told = profile.get("model") or profile.get("name")
    if not isinstance(told, str) or not told:
        return None
    if told == told.lower() and " " not in told:
        return told
    name = _REMARK.sub("", told).lower().replace(" ", "-")
    name = name.replace(".", "-") if name.startswith("claude-") else name
    return name if name.startswith(("claude-", "gemini-", "gpt-")) else None


_VERSION_FIRST: Final = re.compile(r"^claude-(\d+(?:-\d+)?)-(opus|sonnet|haiku)$")
_REMARK: Final = re.compile(r"\s*\([^)]*\)")


_INPUTS: Final = {"image": "image_inputs", "audio": "audio_inputs", "video": "video_inputs", "file": "pdf_inputs"}
_TOOL_INPUTS: Final = {"image": "image_tool_message", "file": "pdf_tool_message"}
URL_INPUTS: Final = "image_url_inputs"


def narrow_media(
    table: Mapping[tuple[str, str], MediaRule], model: str | Mapping[str, Any] | None
) -> dict[tuple[str, str], MediaRule]:
    """Take from a media table what a ModelProfile says the model cannot read. A name alone narrows nothing.

    Args:
        table: Rules by (role, block type).
        model: A model's name, a ModelProfile, or None.

    Source: langchain_core.language_models.ModelProfile (1.8): image_inputs, image_url_inputs, ..., *_tool_message.
    """
    if not isinstance(model, Mapping):
        return dict(table)
    return {key: _narrowed(rule, model, key[1]) for key, rule in table.items() if not lacking_input(model, *key)}


def lacking_input(model: str | Mapping[str, Any] | None, role: str, block_type: str) -> str:
    """Name the field of a ModelProfile that says that the model reads no such media there; "" if none does.

    >>> lacking_input({"image_inputs": False}, "user", "image")
    'image_inputs'
    """
    asked = [_INPUTS.get(block_type), _TOOL_INPUTS.get(block_type) if role == "tool" else None]
    return next((field for field in asked if field and _denies(model, field)), "")


def fetches_no_url(model: str | Mapping[str, Any] | None, block_type: str) -> bool:
    """True if a ModelProfile says that the model reads such media only from bytes."""
    return block_type == "image" and _denies(model, URL_INPUTS)


def _denies(model: str | Mapping[str, Any] | None, field: str) -> bool:
    return isinstance(model, Mapping) and model.get(field) is False


def _narrowed(rule: MediaRule, model: Mapping[str, Any], block_type: str) -> MediaRule:
    return replace(rule, sources=rule.sources - {"url"}) if fetches_no_url(model, block_type) else rule
