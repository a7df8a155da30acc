"""The conversation of a checkpoint as envelopes: a message is made only where the stored envelope does not tell all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage

from ...envelope.everyday import Said, said_of
from ...envelope.model import MessageEnvelope
from ..codec import LIST
from ..decoder import UNREAD, Decoder, NotAtHandError, Opened, id_of
from ..effects import Program
from ..items import MESSAGE
from ..records import CheckpointRecord, load_writes
from ..sequences import Entry
from ..view import ThreadView
from .anew import beginning_anew
from .core import Core, fetch_missing, open_record, read_record
from .read import read_found

Spoken = list[BaseMessage | MessageEnvelope]


@dataclass(frozen=True, slots=True)
class SpokenAt:
    """A checkpoint's conversation.

    Attributes:
        messages: In order: envelopes, as `envelope.read.read_message` reads them, or messages where only that can tell.
            None where no channel is a list of messages.
        written: The channels that pending writes are for.
        parent_id: The checkpoint before it in its namespace.
    """

    messages: Spoken | None
    written: frozenset[str]
    parent_id: str | None


@beginning_anew
def spoken_at(
    core: Core, thread_id: str, ns: str, checkpoint_id: str | None, *, channel: str | None
) -> Program[SpokenAt | None]:
    """Read the conversation of a checkpoint, with its media; round trips as `get_tuple`.

    Args:
        channel: The channel of the conversation; None: "messages", else the first list of messages.
    """
    answer = yield from read_found(core, thread_id, ns, checkpoint_id)
    if answer is None:
        return None
    found, data = answer
    view = found.view
    decoder = core.decoder(view, thread_id, found.fetched)
    parsed = open_record(view, found.place, data, thread_id)
    writes = load_writes(found.writes, place=found.place, secrets=view.secrets, where=decoder.where)
    try:
        record = read_record(core, parsed, decoder)
        messages = _messages(record, decoder, view, ns, channel)
    except NotAtHandError:
        yield from fetch_missing(core, view, thread_id, parsed.refs, decoder)
        record = read_record(core, parsed, decoder)
        messages = _messages(record, decoder, view, ns, channel)
    return SpokenAt(messages, frozenset(write.channel for write in writes), record.parent_id)


def _messages(
    record: CheckpointRecord, decoder: Decoder, view: ThreadView, ns: str, channel: str | None
) -> Spoken | None:
    for name in (channel,) if channel is not None else ("messages", *record.values):
        entry = record.values.get(name)
        if entry is not None and isinstance(entry.wire, list) and len(entry.wire) == 3 and entry.wire[1] == LIST:
            known = view.sequences.get((ns, name))
            made = known if known is not None and known.is_named(entry) else decoder.sequenced(entry)
            messages = _only_messages(decoder, made.entries)
            if messages:
                return messages
    return None


def _only_messages(decoder: Decoder, entries: Sequence[Entry]) -> Spoken | None:
    """Read the entries of a list; None when one is no message."""
    found: Spoken = []
    for entry in entries:
        if type(entry.wire) is list:
            return None
        opened = decoder.open(entry.refs[0])
        said = opened.said if opened.said is not UNREAD else _read_said(opened)
        if said is not None:
            found.append(said.envelope(id_of(opened, entry.wire)))
        elif isinstance(message := decoder.value(entry), BaseMessage):
            found.append(message)
        else:
            return None
    return found


def _read_said(opened: Opened) -> Said | None:
    said = opened.said = said_of(opened.body) if opened.kind == MESSAGE and type(opened.body) is dict else None
    return said
