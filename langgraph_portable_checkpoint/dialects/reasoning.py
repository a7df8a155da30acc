"""Where reasoning may be replayed: only to the origin it belongs to, and only behind an unchanged prefix.

Decides per block; the spelling is the renderers'. Rules A12b, A12c, R1b, R2, K4 of the field notes: signatures and
encrypted content of another provider, model family or account are refused or corrupt the request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..envelope.facts import fact_of_envelope
from ..envelope.model import Block, MessageEnvelope, Origin
from .base import ExportOptions, ReasoningRule, Target
from .models import model_family
from .report import Placed


@dataclass
class Replay:
    """Tells for each reasoning block, in the order of the history, why it may not be replayed.

    Once a block of the target's own provider is refused, or the history changed, nothing that follows is replayed to
    a model that binds reasoning to its prefix.
    """

    target: Target
    options: ExportOptions
    model: str | None
    broken: bool = False

    def refusal(self, block: Block, placed: Placed) -> str | None:
        """Return why a block must go, or None if it may stay."""
        rule = self.target.reasoning
        if rule is None:
            return None
        if self.options.reasoning != "same-origin":
            return f'reasoning="{self.options.reasoning}" was asked for'
        reason = self._foreign(rule, block, placed.envelope)
        if reason is None and self._binds(rule) and self.broken:
            reason = "what stands before it is not what the model saw"
        elif reason is not None and self._is_own(block, placed.envelope):
            self.broken = True
        return reason

    def _binds(self, rule: ReasoningRule) -> bool:
        bound = rule.bound_to_prefix
        return bound is not None and (self.model is None or bound.search(self.model) is not None)

    def changes(self, block: Block, envelope: MessageEnvelope) -> None:
        """Note that a block is not sent as the model saw it; one of another provider it never saw as it was."""
        self.broken = self.broken or self._is_own(block, envelope) or envelope["role"] != "assistant"

    def _is_own(self, block: Block, envelope: MessageEnvelope) -> bool:
        return origin_of(block, envelope).get("provider") in self.target.providers

    def _foreign(self, rule: ReasoningRule, block: Block, envelope: MessageEnvelope) -> str | None:
        origin = origin_of(block, envelope)
        extras = block.get("extras") or {}
        if rule.replay == "never":
            return "the target takes no reasoning back"
        if rule.replay != "any" and origin.get("provider") not in self.target.providers:
            return f"it belongs to {origin.get('provider') or 'an unknown provider'}"
        if rule.replay != "any" and self.target.api and origin.get("api", self.target.api) != self.target.api:
            return f"it belongs to the {origin.get('api')} API"
        if rule.replay == "same-model" and _differs(self.model, origin.get("model")):
            return f"it belongs to the model {origin.get('model')}"
        if self.options.account and origin.get("account", self.options.account) != self.options.account:
            return "it belongs to another account"
        if rule.needs and not any(extras.get(key) for key in rule.needs):
            return f"it has no {' or '.join(rule.needs)}"
        return None


def open_texts(content: Any) -> list[str]:
    """Return the texts of reasoning that is open to read, as gpt-oss gives it beside or in place of a summary."""
    parts = [part for part in content if isinstance(part, Mapping)] if isinstance(content, list) else []
    return [part["text"] for part in parts if isinstance(part.get("text"), str)]


def origin_of(block: Block, envelope: MessageEnvelope) -> Origin:
    """Return the origin of a block: its own, else its message's."""
    return block.get("origin") or envelope.get("origin") or {}


def target_model(conversation: Sequence[Placed], target: Target, options: ExportOptions) -> str | None:
    """Return the model that will read the history: the one asked for, else the last one of this provider."""
    if options.model_name:
        return options.model_name
    for placed in reversed(conversation):
        origin = placed.envelope.get("origin")
        if not origin or placed.envelope["role"] != "assistant":
            continue
        if origin.get("provider") in target.providers and origin.get("model"):
            return origin["model"]
    return None


def _differs(model: str | None, other: str | None) -> bool:
    return bool(model and other) and model_family(model or "") != model_family(other or "")


def begins_with_summary(conversation: Sequence[Placed]) -> bool:
    """True if a summary stands for what a model saw before the messages that were kept."""
    said = next((placed.envelope for placed in conversation if placed.envelope["role"] != "system"), None)
    return said is not None and "extras" in said and fact_of_envelope(said).summary


def first_change(before: Sequence[Placed], after: Sequence[Placed], target: Target, known: int | None) -> int | None:
    """Return where the first message stands that is not sent as the target's own model saw it."""
    kept = {id(placed.envelope) for placed in after}
    own = [placed for placed in before if placed.envelope.get("origin", {}).get("provider") in target.providers]
    changed = (placed.index for placed in own if placed.index is not None and id(placed.envelope) not in kept)
    return min((index for index in (known, next(changed, None)) if index is not None), default=None)
