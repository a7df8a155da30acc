"""The conversation of a checkpoint as envelopes: a message is made only where the stored envelope does not tell all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.messages import BaseMessage

from ...envelope.everyday import Packed
from ...envelope.model import MessageEnvelope
from ...envelope.read import read_fields_of
from ..codec import BLOB_WIRE, LIST
from ..decoder import Decoder, NotAtHandError
from ..effects import Program
from ..items import MESSAGE
from ..opened import Opened, id_of, said_by
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
        channel: The channel that they are of.
        written: The tasks and channels of its pending writes.
        parent_id: The checkpoint before it in its namespace.
        metadata: Its metadata; do not hand out, copy.
    """

    messages: Spoken | None
    channel: str | None
    written: tuple[tuple[str, str], ...]
    parent_id: str | None
    metadata: Mapping[str, Any]


@beginning_anew
def spoken_at(
    core: Core, thread_id: str, ns: str, checkpoint_id: str | None, *, channel: str | None, media: bool
) -> Program[SpokenAt | None]:
    """Read the conversation of a checkpoint; round trips as `get_tuple`.

    Args:
        channel: The channel of the conversation; None: "messages", else the first list of messages.
        media: Whether to read media. Messages that have some which are not read, or cannot be, come with texts that
            stand for them.
    """
    answer = yield from read_found(core, thread_id, ns, checkpoint_id)
    if answer is None:
        return None
    found, data = answer
    view = found.view
    decoder = core.decoder(view, thread_id, found.fetched)
    parsed = open_record(view, found.place, data, thread_id)
    writes = load_writes(found.writes, place=found.place, secrets=view.secrets, where=decoder.where)
    reading = _Reading(decoder, view, ns, media)
    try:
        record = read_record(core, parsed, decoder)
        name, messages = reading.messages(record, channel)
    except NotAtHandError:
        yield from fetch_missing(core, view, thread_id, parsed.refs, decoder, media=media)
        record = read_record(core, parsed, decoder)
        name, messages = reading.messages(record, channel)
    return SpokenAt(
        messages, name, tuple((write.task_id, write.channel) for write in writes), record.parent_id, record.metadata
    )


@dataclass(frozen=True, slots=True)
class _Reading:
    """Reads messages from what is at hand of one checkpoint."""

    decoder: Decoder
    view: ThreadView
    ns: str
    media: bool

    def messages(self, record: CheckpointRecord, channel: str | None) -> tuple[str | None, Spoken | None]:
        """Read the conversation and its channel; None where no list is one, or a value that is no list may be."""
        for name in (channel,) if channel is not None else ("messages", *record.values):
            entry = record.values.get(name)
            if entry is None:
                continue
            if _may_be_messages(entry.wire):
                break
            if isinstance(entry.wire, list) and len(entry.wire) == 3 and entry.wire[1] == LIST:
                known = self.view.sequences.get((self.ns, name))
                made = known if known is not None and known.is_named(entry) else self.decoder.sequenced(entry)
                messages = self._only_messages(made.entries)
                if messages:
                    return name, messages
        return None, None

    def _only_messages(self, entries: Sequence[Entry]) -> Spoken | None:
        """Read the entries of a list; None when one is no message."""
        found: Spoken = []
        for entry in entries:
            if type(entry.wire) is list:
                return None
            opened = self.decoder.open(entry.refs[0])
            said = said_by(opened)
            if said is not None:
                found.append(said.envelope(id_of(opened, entry.wire)))
                continue
            message = self._message(opened, entry)
            if message is None:
                return None
            found.append(message)
        return found

    def _message(self, opened: Opened, entry: Entry) -> BaseMessage | MessageEnvelope | None:
        if opened.kind == MESSAGE and opened.media and not self.media:
            return cast(BaseMessage, self.decoder.without_media(entry))
        read = _read_again(opened, id_of(opened, entry.wire)) if opened.kind == MESSAGE else None
        if read is not None:
            opened.said = None if opened.media else Packed.of(read)
            return read
        message = self.decoder.value(entry)
        return message if isinstance(message, BaseMessage) else None


def _read_again(opened: Opened, message_id: str | None) -> MessageEnvelope | None:
    """Read a message that was made before from its fields; None where only the message itself can tell."""
    prototype = opened.prototype
    fields = prototype.plain_fields(message_id) if prototype is not None else None
    return None if prototype is None or fields is None else read_fields_of(prototype.shape.kind, fields)


def _may_be_messages(wire: Any) -> bool:
    """Tell whether a value that was not stored as a list may be read back as one: a tuple, or a class of its own."""
    return wire == BLOB_WIRE or (type(wire) is list and len(wire) == 2)
