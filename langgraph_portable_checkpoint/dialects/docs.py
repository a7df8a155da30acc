"""docs/dialects.md, made from the dialects' own tables.

`python -m langgraph_portable_checkpoint.dialects.docs > docs/dialects.md` writes it; a test fails while it differs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields

from .base import DeclaredLoss, Dialect, ExportOptions
from .concerns import IMPORT_LOSSES, PROFILE_LOSS, SUMMARY, UNREAD_MEDIUM, normaliser_losses
from .integrations import INTEGRATIONS
from .registry import bundled_names, get_dialect
from .report import LOSS_KINDS

_HEAD = """\
# Dialects

This page is generated from the tables in `langgraph_portable_checkpoint/dialects/`; change them, then run
`python -m langgraph_portable_checkpoint.dialects.docs > docs/dialects.md`.

A dialect is a native form of a conversation. `export_messages(messages, to=NAME)` and `export_thread(...)` write it,
`import_messages(payload, from_=NAME)` reads it, `lint(payload, NAME)` checks any history against its rules: one that a
user message will follow, with `for_next_turn=False` one that is sent as it is. Rules of some models only count where
`model=` or the request names one. A history may hold objects of the providers' SDKs. Each change that an export or an
import makes is a `Loss` in the report, with the rule that asks for it. Never sent to any provider, and no loss: usage,
stop reasons, log probabilities, tool artifacts, message ids of LangChain, and what an application keeps in
`additional_kwargs` and `response_metadata`. What a part or a call says beside its content is a loss wherever the target
has no word for it: signatures, callers, cache hints, names, titles, keys that only an application knows.
"""


_GROWTH = """\
## Growing histories

Prompt caches, and reasoning that is bound to all that stands before it, need an export that only grows. What holds, for
every target, with the same options:

- **At the end of a turn** (all of its calls answered, the answer given) the export of the history so far is the exact
  beginning of the export of every longer history.
- **Inside a turn** all entries but the last are; the last one may still grow: results of parallel calls, and what the
  user says after them, share an entry (Anthropic, Bedrock, Google), and consecutive messages of one role become one
  where roles must alternate (Bedrock, Perplexity).

Not covered, because the longer history says something else about the shorter one: a result that comes later than the
turn of its call; another model that answers later, where `model=` is not given (the last one of the provider decides
which reasoning may be replayed); cache marks, of which Anthropic takes the last four; `for_next_turn=False`; a user
message with nothing in it, which is left out, where roles must alternate (Bedrock, Google): the answers around it
become one entry.
"""


_RECOVERED = """\
## Recovered messages

`export_thread(..., full=True)` makes one conversation of a checkpoint and all of its ancestors, with messages that the
state has since lost: summarised, trimmed, removed. Which, and in which order:

- What the state holds is there whole and in its own order, each message as it says now: one that was rewritten under
  its id counts once.
- A recovered message stands directly behind the one that it followed in the newest checkpoint that holds it. One that
  followed none stands at the beginning, but behind the system messages that lead the state. So what was put in the
  place of messages (a summary, a rewritten question) stands behind them.
- Each recovered message carries `extras["recovered"]`. Exports to `langchain` (within
  `additional_kwargs`), `otel` (`portable_checkpoint.extras`) and `agent-checkpoint` (`_meta.recovered`) keep that mark,
  and importing them reads it again. Messages that are sent to a provider have no place for it: there it is left out,
  which is no loss, since the model would not read it.
- Messages without an id are the same if they say the same. All are of the one channel that holds the conversation now.
- A summary (LangChain's `lc_source`, and how logs of agents mark theirs) stays wherever something that it stands for
  may be missing. It is left out, which the report says, where its step did nothing but put it in the place of messages,
  and every checkpoint from the one before it to the newest is there: not where older ones were pruned, where a run
  saved at its end only (`durability="exit"`), or where a subgraph brought it together with its answer.
- No model has seen such a history as it is, so reasoning that is bound to all that stands before it is left out
  (`prefix_intact=False`), unless nothing was recovered.

Turns and budgets are chosen after that.
"""


def render() -> str:
    """Return the page."""
    dialects = [get_dialect(name) for name in bundled_names()]
    parts = [
        _HEAD,
        "\n".join(_overview(dialects)),
        "\n".join(_kinds()),
        "\n".join(_options()),
        _SELECTION,
        _GROWTH,
        _RECOVERED,
        "\n".join(_integrations()),
        *("\n".join(_section(dialect)) for dialect in dialects),
    ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |"


def _overview(dialects: Sequence[Dialect]) -> Iterator[str]:
    rows = (
        (
            f"[`{dialect.name}`](#{dialect.name})",
            dialect.title,
            "both" if dialect.writes else "import",
            ", ".join(f"`{profile}`" for profile in dialect.profiles),
        )
        for dialect in dialects
    )
    yield from _table(("dialect", "form", "direction", "profiles"), rows)


def _kinds() -> Iterator[str]:
    yield "## Kinds of losses\n"
    yield from _table(("kind", "meaning"), ((f"`{kind}`", meaning) for kind, meaning in LOSS_KINDS.items()))
    for loss in (PROFILE_LOSS, SUMMARY, UNREAD_MEDIUM):
        yield f"\nWhatever the target, rule `{loss.rule}`, {loss.kind}: {loss.when}."
    for loss in IMPORT_LOSSES:
        yield f"\nOn import, rule `{loss.rule}`, {loss.kind}: {loss.when}."


def _options() -> Iterator[str]:
    """List the export options with their docstring lines, which are the only place that describes them."""
    text = (ExportOptions.__doc__ or "").partition("Attributes:\n")[2]
    described: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        words = line.strip()
        found, colon, rest = words.partition(": ")
        if colon and line.startswith(" " * 8) and not line.startswith(" " * 9):
            name = found
            described[name] = rest
        elif name and words:
            described[name] += f" {words}"
    yield "## Export options\n"
    yield from _table(
        ("option", "default", "meaning"),
        ((f"`{one.name}`", f"`{_default(one.default)}`", described[one.name]) for one in fields(ExportOptions)),
    )


_SELECTION = """
Which messages are written is chosen by other parameters: `turns` (the last N, or a range `(start, stop)`), and
`max_tokens` with `count_tokens`, a function of yours (as many of the last turns as fit). Turns are never cut, and
system messages that lead stay. `export_thread` also takes `checkpoint_id`, `checkpoint_ns`, `channel` and `full`.
"""


def _integrations() -> Iterator[str]:
    yield "## Chat models of LangChain\n"
    yield "What `PortableHistoryMiddleware` takes a model's wire to be, by its class or its provider word:\n"
    rows = (
        (", ".join(f"`{word}`" for word in one.words), f"`{one.dialect}`", f"`{one.profile}`" if one.profile else "")
        for one in INTEGRATIONS
    )
    yield from _table(("provider words", "dialect", "profile"), rows)
    yield "\nModels of langchain-openai that ask the Responses API speak `openai-responses`; `ChatBedrock` speaks the"
    yield "wire of the model that it invokes; a `ChatOpenAI` with another `base_url` speaks that host's."
    yield "\nList the middleware last, behind whatever chooses the model or changes the messages"
    yield "(`ModelFallbackMiddleware`, summaries, context editing): in another place it adapts for a model that is not"
    yield "asked in the end. The request's own system prompt is adapted too; losses in it name no message."
    yield "\nThe whole history goes with each request, so `use_previous_response_id` has no effect behind the"
    yield "middleware. A Claude that is told to think with a budget does not think while a turn goes on that another"
    yield "model began (A12)."


def _default(value: object) -> str:
    return repr(value) if isinstance(value, (str, bool, type(None))) else "none"


def _section(dialect: Dialect) -> Iterator[str]:
    yield f"## {dialect.name}\n"
    yield f"{dialect.title}. {'' if dialect.writes else 'Import only. '}" + _providers(dialect)
    yield ""
    yield "Field map:\n"
    rows = ((field.neutral, f"`{field.native}`", field.note) for field in dialect.FIELD_MAP)
    yield from _table(("neutral", "native", "note"), rows)
    if dialect.RULES:
        yield ""
        yield "Rules:\n"
        yield from _table(("rule", "demands", "source"), ((rule.id, rule.text, rule.source) for rule in dialect.RULES))
    losses = list(_losses(dialect))
    if losses:
        yield ""
        yield "Losses:\n"
        yield from _table(("rule", "kind", "when"), ((loss.rule, loss.kind, loss.when) for loss in losses))


def _providers(dialect: Dialect) -> str:
    return f"Provider words: {', '.join(dialect.providers)}." if dialect.providers else "Bound to no provider."


def _losses(dialect: Dialect) -> Iterator[DeclaredLoss]:
    if dialect.writes:
        yield from normaliser_losses(dialect.target(ExportOptions()))
    yield from dialect.LOSSES


def main() -> None:
    """Print the page."""
    sys.stdout.write(render())


if __name__ == "__main__":
    main()
