"""What all programs share: the thread's view, encoding, fetching, and what the server's answers mean."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha1, sha256
from typing import Any, Final

import msgpack

from ...errors import (
    CorruptRecordError,
    PlaintextRecordError,
    ThreadDeletedError,
    TurnInProgressError,
    WrongServerError,
)
from ..codec import ValueCodec
from ..decoder import Blobs, Decoder
from ..effects import Batch, Command, MediaGet, MediaPut, Program, Script
from ..encoder import Encoder, NewMedia, Sink
from ..items import Parsed, Secrets, digest_of, pack
from ..known import Flats, KnownMessages
from ..layout import Layout, split_place
from ..opened import Items, opened_message
from ..records import CheckpointRecord, load_checkpoint, open_checkpoint
from ..view import Lost, ThreadView, ToldRecord, Views
from .blobs import (
    answered,
    known_of,
    open_blob,
    seal_blob,
    seal_media_record,
    stored_at,
    stored_digest,
    told_of,
    unpack_sealed,
    with_place_of,
)
from .large import MediaArgs, large_of

TOMBSTONE_TTL_MS: Final = 3_600_000
MAX_ATTEMPTS: Final = 5
IF_ABSENT: Final = b"-" * 40
"""In the place of a SHA-1 of what was read: a media record that takes the place of no other."""
NO_GENERATION: Final = b"?"
"""Of a thread that has none, as when its meta was evicted; those of threads are hex digits."""
KEY_WHAT: Final = "digest key"
KEY_MARK: Final = b"lpc-key:"
KEY_BYTES: Final = 32
TOLD: Final = {"mime_type": str, "size_bytes": int, "sha256": str}
"""What a hook hears of a lost medium, where the media table has it."""
STRANGER_BYTES: Final = 8 * 1024 * 1024
APART_BYTES: Final = 256 * 1024
"""Items of more than this in all are arguments of their own."""


class OtherThreadError(Exception):
    """Between two calls of a read or put, the thread became another one. Never leaves the programs."""


class NoBlobs:
    """A cache that keeps nothing."""

    def get(self, digest: bytes) -> bytes | None:
        """Return None."""
        return None

    def put(self, digest: bytes, data: bytes) -> None:
        """Do nothing."""


@dataclass(slots=True)
class Core:
    """A saver's state and settings; everything from outside is passed in."""

    layout: Layout
    codec: ValueCodec
    random_bytes: Callable[[int], bytes]
    now_ms: Callable[[], int]
    ttl_ms: int | None = None
    views: Views = field(default_factory=Views)
    items: Items = field(default_factory=lambda: Items(64 * 1024 * 1024))
    flats: Flats = field(default_factory=Flats)
    blobs: Blobs = field(default_factory=NoBlobs)
    store: str | None = None
    """Name of the external media store; None: media live in the thread's own keys."""
    on_stored: Callable[[dict[str, Any]], None] | None = None
    """Told the media table record of each medium that a thread did not have before."""
    on_lost: Callable[[dict[str, Any]], None] | None = None
    """Told the report entry of each medium that a read could not get."""
    conversation_channels: tuple[str, ...] = ("messages",)
    on_conflict: str = "allow"
    transactions: bool | None = None
    """Whether MULTI and EXEC can be sent; clients of a cluster cannot. None: the user may have no right to."""
    spans_slots: bool = True
    """Whether one script may have keys of several slots; on a cluster, and behind some proxies, it may not."""

    def with_codec(self, codec: ValueCodec) -> Core:
        """Return a core on the same layout and settings with its own caches."""
        return replace(self, codec=codec, views=Views(), flats=Flats(), items=Items(self.items.budget_bytes))

    def stranger(self) -> Core:
        """Return a core that knows nothing of what was read or written, and keeps little of what it reads."""
        return replace(self.with_codec(self.codec), items=Items(STRANGER_BYTES), blobs=NoBlobs())

    @property
    def ttl_arg(self) -> bytes:
        """The ttl as scripts take it."""
        return b"" if self.ttl_ms is None else str(self.ttl_ms).encode()

    def fresh_view(self, thread_id: str) -> ThreadView:
        """Make a view for a thread that may not exist yet: a new generation, and a new key where bodies are sealed."""
        generation = self.random_bytes(12).hex().encode()
        if not self.codec.sealer.sealed:
            return ThreadView(generation, Secrets(b"", self.codec.sealer), b"")
        key = self.random_bytes(KEY_BYTES)
        return ThreadView(generation, Secrets(key, self.codec.sealer), self._seal_key(key, thread_id))

    def _seal_key(self, key: bytes, thread_id: str) -> bytes:
        return pack(self.codec.sealer.seal(KEY_MARK + key + thread_id.encode()))

    def reseal_key(self, sealed_key: bytes, source: str, target: str) -> bytes:
        """Seal a thread's key for a copy of the thread."""
        return self._seal_key(self._open_key(sealed_key, source), target) if sealed_key else b""

    def view_of(self, generation: bytes, sealed_key: bytes, thread_id: str) -> ThreadView:
        """Return the view for what the server says the thread is, keeping the present one if it still is that."""
        view = self.views.get(thread_id)
        if view is None or view.generation != generation:
            key = self._open_key(sealed_key, thread_id)
            made = ThreadView(generation, Secrets(key, self.codec.sealer), sealed_key)
            if view is not None:
                made.stood = view.stood  # what was read before a prune is still in use
            self.views.put(thread_id, made)
            return made
        return view

    def forget(self, thread_id: str) -> None:
        """Rely on nothing that is known of a thread any more, and free it."""
        view = self.views.get(thread_id)
        if view is not None:
            self.flats.drop(view.generation)
        self.views.drop(thread_id)

    def _open_key(self, sealed_key: bytes, thread_id: str) -> bytes:
        where = f"thread {thread_id!r}"
        if not self.codec.sealer.sealed:
            if sealed_key:
                raise CorruptRecordError(
                    KEY_WHAT,
                    where=where,
                    reason="the thread is sealed",
                    fix="Pass the serde= that it was written with.",
                )
            return b""
        if not sealed_key:
            raise PlaintextRecordError(
                KEY_WHAT, where=where, reason="the thread is stored in the open, and this saver only reads sealed data"
            )
        opened = self.codec.sealer.open(
            unpack_sealed(sealed_key, what=KEY_WHAT, where=where), what=KEY_WHAT, where=where
        )
        start, stop = len(KEY_MARK), len(KEY_MARK) + KEY_BYTES
        if not opened.startswith(KEY_MARK) or opened[stop:] != thread_id.encode():
            raise CorruptRecordError(KEY_WHAT, where=where, reason="it was moved here from another place")
        return opened[start:stop]

    def stored(self, view: ThreadView, sink: Sink) -> None:
        """Note that the server has taken what a call sent; it need not be fetched again."""
        view.confirm(sink.items)
        view.confirm(sink.media)
        view.away.difference_update(sink.media)
        view.known.confirm(sink.items)
        for digest, data in sink.items.items():
            known = sink.foreseen.get(digest)
            self.items.add(digest, data if known is None else opened_message(*known, size_bytes=len(data)))
        for ref, media in sink.media.items():
            self.blobs.put(ref, media.data)
        if self.on_stored is not None:
            for ref, record in zip(sink.media, sink.records, strict=True):
                if self.views.is_news(view.generation, ref):
                    self.on_stored(record)

    def decoder(self, view: ThreadView, thread_id: str, fetched: dict[bytes, bytes]) -> Decoder:
        """Make a decoder for a thread."""
        return Decoder(
            self.codec,
            view.secrets,
            items=self.items,
            fetched=fetched,
            blobs=self.blobs,
            where=f"thread {thread_id!r}",
            home=thread_id.encode(),
        )

    def encoder(
        self,
        view: ThreadView,
        thread_id: str,
        sink: Sink,
        *,
        codec: ValueCodec | None = None,
        absent: Container[bytes] = (),
    ) -> Encoder:
        """Make an encoder for a thread; one with a codec of its own does not rely on what was encoded before."""
        known = view.known if codec is None else KnownMessages()
        return Encoder(
            codec or self.codec,
            view.secrets,
            known=known,
            stored=view.stored,
            sink=sink,
            home=thread_id.encode(),
            lost=view.lost,
            absent=absent,
            away=view.away,
        )


def pairs(values: Mapping[bytes, bytes]) -> list[bytes | int]:
    """Spell counted pairs for a script."""
    flat: list[bytes | int] = [len(values)]
    for key, value in values.items():
        flat += (key, value)
    return flat


def packed(
    head: Sequence[bytes | int], media: MediaArgs, items: Mapping[bytes, bytes], tail: Sequence[bytes | int]
) -> tuple[bytes, ...]:
    """Pack a script's many arguments into one, in the old form of msgpack that servers read.

    Blobs stay beside it, and so do items where they are large: one argument may have no more than 512 MiB.
    """
    apart = sum(map(len, items.values())) > APART_BYTES
    stored = [media.read, len(media.blobs), *pairs(media.records), *pairs({} if apart else items)]
    beside = (part for pair in (*media.blobs.items(), *(items.items() if apart else ())) for part in pair)
    return (msgpack.packb([*head, *stored, *tail], use_bin_type=False), *beside)


def unpair(flat: Iterable[bytes]) -> dict[bytes, bytes]:
    """Read a flat list of pairs."""
    listed = list(flat)
    return dict(zip(listed[::2], listed[1::2], strict=True))


def broken(thread_id: str) -> CorruptRecordError:
    """Make the error for a thread of which keys or records are missing."""
    return CorruptRecordError(
        "thread",
        where=f"thread {thread_id!r}",
        reason="some of its keys or records are missing, as after an eviction or a partial restore",
        fix="Use a maxmemory-policy of noeviction or volatile-*, then repair the thread, restore it, or delete it.",
    )


def foreign(thread_id: str) -> WrongServerError:
    """Make the error for a thread where a key of something else stands."""
    return WrongServerError(
        f"a key of thread {thread_id!r} belongs to something else. Move that away, or use another prefix=."
    )


def refuse(reply: list[Any], thread_id: str) -> None:
    """Raise for the answers of a writing script that are refusals."""
    if reply[0] == b"broken":
        raise broken(thread_id)
    if reply[0] == b"deleted":
        raise ThreadDeletedError(thread_id)
    if reply[0] == b"leased":
        raise TurnInProgressError(
            f"thread {thread_id!r} is held by another turn (exclusive_turn); the write was refused. "
            "Wait for that turn to end, or take the lease yourself."
        )


def fetch_missing(
    core: Core, view: ThreadView, thread_id: str, refs: Iterable[bytes], decoder: Decoder, *, media: bool = True
) -> Program[None]:
    """Fetch what is not at hand of everything that `refs` lead to, after decoding has met something that is not.

    No call when all is at hand, one for items, one for media. What the server does not have either is found out by
    decoding, which names it.

    Raises:
        OtherThreadError: the thread is not the one any more that the refs were read from.
    """
    wanted = list(refs)
    absent, blobs = decoder.missing(wanted)
    if absent:
        reply = yield Script("fetch", core.layout.thread(thread_id), (b"1", *absent), writes=False)
        same_thread(view, reply[0])
        fetched = unpair(reply[1:])
        decoder.fetched.update(fetched)
        view.confirm(fetched)
        blobs = decoder.missing(wanted)[1]
    if media and blobs:
        yield from fetch_media(core, view, thread_id, blobs, decoder)
    decoder.final = True


def same_thread(view: ThreadView, generation: bytes | None) -> None:
    """Raise `OtherThreadError` when a later call met another generation than the view's.

    A check of a thread that has lost its meta has a view of `NO_GENERATION`.
    """
    if (generation or NO_GENERATION) != view.generation:
        raise OtherThreadError


def fetch_media(
    core: Core, view: ThreadView, thread_id: str, refs: list[bytes], decoder: Decoder
) -> Program[Mapping[bytes, Lost]]:
    """Fetch media bytes and check them. One call, one more for a store.

    Returns:
        What cannot be had, and why; `decoder.lost` has it too.

    Raises:
        OtherThreadError: the thread is not the view's any more.
    """
    keys = core.layout.thread(thread_id)
    stored, table, generation = yield Batch(
        (Command(("HMGET", keys[6], *refs)), Command(("HMGET", keys[7], *refs)), Command(("HGET", keys[0], b"g")))
    )
    same_thread(view, generation)
    known = {ref: known_of(view, ref, record, decoder.where) for ref, record in zip(refs, table, strict=True)}
    found: dict[bytes, bytes | Lost] = {}
    wanted: dict[bytes, tuple[str, str]] = {}
    for ref, data in zip(refs, stored, strict=True):
        place = data if data is not None else stored_at(known[ref], core.store)
        if isinstance(place, (bytes, Lost)):
            found[ref] = place
        else:
            wanted[ref] = place
    answers = (yield MediaGet(tuple(wanted.values()))) if wanted else ()
    found.update({ref: answered(answer) for ref, answer in zip(wanted, answers, strict=True)})
    lost = {ref: each for ref in refs if (each := _take_blob(view, ref, found[ref], decoder)) is not None}
    decoder.lost.update({ref: each.reason for ref, each in lost.items()})
    for ref, data in decoder.media.items():
        core.blobs.put(ref, data)
    _tell_lost(core, view, known, lost)
    for ref in refs:
        view.lost.pop(ref, None)
    view.lost.update(lost)
    view.away.difference_update(refs)
    view.away.update(gone := [ref for ref, each in lost.items() if each.gone])
    if gone and core.store is not None:
        core.views.note_away(gone)
    return lost


def _tell_lost(core: Core, view: ThreadView, known: Mapping[bytes, dict[str, Any]], lost: Mapping[bytes, Lost]) -> None:
    for ref, each in lost.items():
        heard = view.lost.get(ref)
        if core.on_lost is not None and (heard is None or heard.reason != each.reason):
            told = {name: known[ref][name] for name, kind in TOLD.items() if type(known[ref].get(name)) is kind}
            core.on_lost({"reason": each.reason, "detail": each.detail, **told})


def _take_blob(view: ThreadView, ref: bytes, data: bytes | Lost, decoder: Decoder) -> Lost | None:
    """Open a blob and keep it, or say why it cannot be had."""
    if isinstance(data, Lost):
        return data
    try:
        opened = open_blob(view, ref, data, where=decoder.where)
    except CorruptRecordError as error:
        return Lost("corrupt_blob", error.reason)
    decoder.media[ref] = opened
    view.stored.add(ref)
    return None


def media_args(core: Core, view: ThreadView, thread_id: str, sink: Sink) -> Program[MediaArgs]:
    """Spell the blobs and media table records of a call. No call, or one to the external media store.

    One more for media that were lost and are sent anew: what else their records tell, such as uploads, is kept.
    """
    _find_absent(core, sink)
    stored = {ref: seal_blob(view, ref, media.data) for ref, media in sink.media.items()}
    refs: list[str | None] = [None] * len(stored)
    if core.store is not None and stored:
        digests = [stored_digest(media, stored[ref]) for ref, media in sink.media.items()]
        blobs = zip(digests, (media.mime_type for media in sink.media.values()), stored.values(), strict=True)
        refs = yield MediaPut(tuple(blobs))
    read = yield from _read_before(core, view, thread_id, sink)
    records: dict[bytes, bytes] = {}
    for (ref, media), held in zip(sink.media.items(), refs, strict=True):
        described = core.codec.walk.describe(
            media.data,
            media.mime_type,
            sha256=stored_digest(media, stored[ref]),
            store=core.store or "redis",
            ref=held,
        )
        if ref in read:
            described = _described_anew(core, view, ref, read[ref], described)
        records[ref] = seal_media_record(view, ref, described)
        sink.records.append(described)
    lone = [ref for ref in sink.absent if ref not in view.told and ref not in records]
    records |= {ref: seal_media_record(view, ref, sink.absent[ref]) for ref in lone}
    for report in sink.reports:
        name = b"report" + digest_of(pack(report), view.secrets.key)
        records[name] = seal_media_record(view, name, report)
    own = stored if core.store is None else {}
    large = large_of(own) if core.transactions is not False else {}
    small = {ref: data for ref, data in own.items() if ref not in large}
    marks = b"".join(
        ref + sha1(record.data, usedforsecurity=False).hexdigest().encode() for ref, record in read.items()
    ) + b"".join(ref + IF_ABSENT for ref in lone)
    return MediaArgs(large, small, records, marks)


def _described_anew(
    core: Core, view: ThreadView, ref: bytes, told: ToldRecord, described: dict[str, Any]
) -> dict[str, Any]:
    """Describe a medium that has a record already: what that tells beside is kept, and so are bytes in the thread."""
    known = known_of(view, ref, told.data, "")
    if core.store is not None and told.in_thread and known.get("store") == "redis":
        described = with_place_of(known, described)
    return {**told_of(view, ref, told.data), **described}


def _read_before(core: Core, view: ThreadView, thread_id: str, sink: Sink) -> Program[dict[bytes, ToldRecord]]:
    """Return the records of media that are sent, where they may tell more. No call, or one for media that were lost."""
    anew = [ref for ref in sink.media if ref in view.away]
    table = (yield Batch((Command(("HMGET", core.layout.thread(thread_id)[7], *anew)),)))[0] if anew else ()
    lost = {ref: ToldRecord(data, False) for ref, data in zip(anew, table, strict=True) if data is not None}
    return {ref: view.told[ref] for ref in sink.media if ref in view.told} | lost


def _find_absent(core: Core, sink: Sink) -> None:
    """Send media anew that the thread has lost and this client has still in its cache."""
    for ref, told in list(sink.absent.items()):
        data = core.blobs.get(ref)
        if data is not None:
            sink.media[ref] = NewMedia(told["mime_type"], data, sha256(data).digest())
            del sink.absent[ref]


def absent_media(core: Core, thread_id: str, refs: Collection[bytes]) -> Program[set[bytes]]:
    """Say which of these media a thread does not know any more. One call, or none for none."""
    named = list(refs)
    known = (yield Batch((Command(("HMGET", core.layout.thread(thread_id)[7], *named)),)))[0] if named else ()
    return {ref for ref, record in zip(named, known, strict=True) if record is None}


def read_record(core: Core, parsed: Parsed, decoder: Decoder) -> CheckpointRecord:
    """Put an opened record together with its shape, which must be at hand."""
    shape = decoder.open(parsed.refs[0]).body
    return load_checkpoint(parsed, shape, load=core.codec.load, where=decoder.where)


def open_record(view: ThreadView, place: bytes, data: bytes, thread_id: str) -> Parsed:
    """Open a checkpoint record."""
    ns, checkpoint_id = split_place(place)
    where = f"checkpoint {checkpoint_id!r} (namespace {ns!r}) of thread {thread_id!r}"
    return open_checkpoint(data, place=place, secrets=view.secrets, where=where)
