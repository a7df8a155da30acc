"""A thread of one of our savers copied to another as it is stored, page by page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..saver import PortableRedisSaver
from ..storage.programs import paged, whole
from .steps import Moves, Run


@dataclass(frozen=True, slots=True)
class StoredCopy:
    """One such copy."""

    source: PortableRedisSaver
    target: PortableRedisSaver
    outline: paged.Outline

    def parts(self, target_id: str) -> Sequence[str]:
        """What goes along: a turn log names its thread, and reading derives it again where it is left out."""
        return whole.PARTS if target_id == self.outline.thread_id else [part for part in whole.PARTS if part != "turns"]

    def copy(self, target_id: str, key: bytes) -> Moves[None]:
        """Send all pages; readers of the target see nothing before the last one is there."""
        core, parts = self.target._core, self.parts(target_id)
        head = self.outline.head if "turns" in parts else self.outline.head.without_turn_log()
        load = yield Run(self.target, whole.begin_load(core, target_id, head, key=key))
        for wanted in self.outline.steps(parts):
            page = yield Run(self.source, paged.read_pages(self.source._core, self.outline, wanted))
            yield Run(self.target, whole.stage(core, load, page))
        yield Run(self.target, whole.commit(core, load))

    def differing(self, target_id: str) -> Moves[list[str]]:
        """Compare what the target holds now with what was sent; say which parts differ.

        Items and blobs are compared byte for byte, what a graph at work may change by the SHA-1 of then.
        """
        copy = yield Run(self.target, paged.outline_thread(self.target._core, target_id))
        if copy is None:
            return list(self.parts(target_id))
        differing = []
        for part in self.parts(target_id):
            same = copy.sizes[part] == self.outline.sizes[part] and copy.marks[part] == self.outline.marks[part]
            if part not in ("items", "blobs"):
                differing += [] if same else [part]
                continue
            for names in self.outline.pages(part) if same else ():
                there = yield Run(self.source, paged.read_page(self.source._core, self.outline, part, names))
                here = yield Run(self.target, paged.read_page(self.target._core, copy, part, names))
                same = same and here == there
            differing += [] if same else [part]
        return differing
