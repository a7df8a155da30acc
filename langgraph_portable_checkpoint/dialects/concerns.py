"""What the normaliser may change: its concerns, and the losses that each can lead to, as a table.

A target names the rule for each concern that it has (`Target.rules`); what it does not name cannot happen to it. The
page docs/dialects.md and the tests read this table too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .base import DeclaredLoss, Target
from .report import LossKind

CONCERNS: Final[Mapping[str, Mapping[LossKind, str]]] = {
    "dangling_call": {
        "dropped": "a call has no result: it, its step or its turn is left out",
        "synthesized": 'a call has no result: an error result is made (incomplete="synthesize")',
        "unresolved": "a call waits for a human: its turn is left out, nothing is answered",
    },
    "orphan_result": {
        "dropped": "a result answers no call",
        "downgraded": 'a result answers no call: it becomes a user message (orphans="text")',
    },
    "duplicate_result": {"dropped": "a call has several results: the first stays"},
    "late_result": {"reordered": "a result does not follow its call directly: it is moved there"},
    "result_order": {"reordered": "results stand in another order than their calls"},
    "call_id": {"re-keyed": "a call's id does not fit, or is missing"},
    "repeated_call_id": {"re-keyed": "a call's id was used before"},
    "tool_name": {"re-keyed": "a tool's name does not fit, or is missing"},
    "message_name": {"re-keyed": "a message's name does not fit"},
    "speaker": {"dropped": "the name of a speaker, where messages cannot say who speaks"},
    "result_name": {"dropped": "the name of a result, where it is not its call's, or came in the target's own form"},
    "message_keys": {"dropped": "what another API says of a message beside its content"},
    "role": {"downgraded": "a role that the target does not know becomes user"},
    "mid_system": {"downgraded": "a system message that does not lead becomes a user message with the same text"},
    "blank_text": {"dropped": "a text of spaces only"},
    "broken_text": {"downgraded": "lone surrogates, which no request can hold, become U+FFFD"},
    "empty_message": {"dropped": "a message without content"},
    "reasoning": {
        "dropped": "reasoning of another provider, model or account, without its opaque part, or behind a change",
        "downgraded": 'reasoning becomes text (reasoning="text")',
    },
    "reasoning_required": {"synthesized": "an empty reasoning field where the target demands one"},
    "item_ids": {"dropped": "ids of items whose reasoning was left out"},
    "refusal": {"downgraded": "a refusal becomes text"},
    "invalid_arguments": {"downgraded": "arguments that are no JSON object are wrapped into one"},
    "server_tools": {
        "dropped": "items of another provider's server tools, or half a pair",
        "downgraded": 'the same as a text (server_tools="text")',
    },
    "non_standard": {
        "dropped": "an assistant's block of unknown type that was written for another API; any with "
        'on_unsupported_part="drop"',
        "placeholder": "the same in user and tool messages",
        "downgraded": "a search result, or a document of texts and images, in another provider's form becomes its text",
    },
    "media": {
        "placeholder": "a part that the target does not take, or the model does not read, as its profile says",
        "dropped": 'the same with on_unsupported_part="drop"',
        "unresolved": "a media reference whose bytes are not at hand, or bytes that cannot be decoded",
        "downgraded": "a plain-text document becomes text, audio its transcript",
    },
    "tool_media": {"moved": "media of a tool result go into a user message behind the results"},
    "tool_status": {"downgraded": "the error flag of a tool result"},
    "tools": {"downgraded": "calls and results become text where the host calls no tools"},
    "text_with_calls": {"moved": "text and calls of one message become two messages"},
    "calls_last": {"reordered": "content behind a message's calls is put before them"},
    "first_role": {"synthesized": "an opening user message"},
    "last_role": {"synthesized": "a closing user message (for_next_turn=False)"},
    "alternation": {"merged": "consecutive messages of one role"},
}


PROFILE_LOSS: Final = DeclaredLoss(
    rule="profile",
    kind="downgraded",
    when="calls and results become text: the ModelProfile says tool_calling: False",
)
"""What a model's profile may ask for, whatever the target."""
SUMMARY: Final = DeclaredLoss(
    rule="summary",
    kind="dropped",
    when="a summary is not in an export with `full=True`: all the messages that it stands for are",
)
"""What an export of a thread may report, whatever the target."""
UNREAD_MEDIUM: Final = DeclaredLoss(
    rule="medium",
    kind="unresolved",
    when="a medium in a call's arguments, in what a provider's tool gave or beside a message's parts cannot be had, or "
    "was not read (`resolve_media=False`): a text stands there, or nothing",
)
"""What an export of a thread may report, whatever the target."""
UNKNOWN_PART: Final = DeclaredLoss(
    rule="unknown-part",
    kind="unresolved",
    when="a part stands in a history that its provider's dialect does not know; it is kept as it came",
)
INVALID_ARGUMENTS: Final = DeclaredLoss(
    rule="arguments",
    kind="unresolved",
    when="a call's arguments are no JSON object, or hold an integer beyond 64 bits or a key with half of a surrogate "
    "pair, which no checkpoint can hold; they are kept as text, and the call counts as invalid; an `otel` or "
    "`langchain` history with such an object is refused",
)
REPEATED_KEY: Final = DeclaredLoss(
    rule="arguments",
    kind="dropped",
    when="a key stands twice in the JSON text of a call's arguments: its last value counts; the text itself goes back "
    "as it was where arguments are text",
)
OTHER_ANSWERS: Final = DeclaredLoss(
    rule="answers",
    kind="dropped",
    when="a response holds several answers (`choices`, `candidates`): the first is read, the others are left out",
)
SECOND_HISTORY: Final = DeclaredLoss(
    rule="history",
    kind="dropped",
    when="a payload holds another history beside the one that is read (a response beside its request, instructions or "
    "a list of another dialect): it stands in `settings` as it came",
)
PARTIAL: Final = DeclaredLoss(
    rule="partial",
    kind="unresolved",
    when="a history is not whole: the provider keeps the rest of it (`previous_response_id`, `conversation`, `prompt`, "
    "`item_reference`, `cachedContent`, `promptVariables`), or an answer failed or was cut off",
)
IMPORT_LOSSES: Final = (UNKNOWN_PART, INVALID_ARGUMENTS, REPEATED_KEY, OTHER_ANSWERS, SECOND_HISTORY, PARTIAL)
"""What any import of a provider's history may report."""


def normaliser_losses(target: Target) -> tuple[DeclaredLoss, ...]:
    """Return what the normaliser may report for a target: the concerns that its `rules` name."""
    return tuple(
        DeclaredLoss(rule=target.rules[concern], kind=kind, when=when)
        for concern, kinds in CONCERNS.items()
        if concern in target.rules
        for kind, when in kinds.items()
    )
