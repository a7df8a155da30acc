"""How the keys of a thread stand: whether they are there together, expire together, and are found by the indexes."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Final

from ..storage.effects import Program
from ..storage.layout import THREAD_PARTS, run_digest
from ..storage.programs import paged, whole
from ..storage.programs.core import Core
from .findings import Findings, named

TTL_SLACK_MS: Final = 2000
"""Keys of one thread are given their time to live one after the other, which takes the server a moment."""


@dataclass(frozen=True, slots=True)
class KeyCheck:
    """One look at the keys of one thread."""

    core: Core
    standing: whole.Standing
    outline: paged.Outline
    findings: Findings

    def keys(self) -> None:
        """Check that the thread's keys are there together, and that the index names the records."""
        there = {name for name, ttl in zip(THREAD_PARTS, self.standing.ttls_ms, strict=True) if ttl != -2}
        if not self.standing.meta.get(b"g"):
            self.findings.add("key", "meta", "the thread's own record is gone or has no generation")
        if self.outline.sizes["ckpts"] and not self.outline.sizes["items"]:
            self.findings.add("key", "items", "there are checkpoints and no items")
        if there & {"items", "meta"} and not there & {"ckpts", "writes"}:
            staged = self.standing.ttls_ms[0] > 0
            detail = "a copy or restore never came to its end" if staged else "there are items and no checkpoints"
            self.findings.add("key", "ckpts", detail, severity="note" if staged else "error")
        index = set(self.standing.index)
        for place in sorted(index - self.outline.sizes["ckpts"].keys()):
            self.findings.add("index", named(place), "the index names a checkpoint that is not stored")
        for place in sorted(self.outline.sizes["ckpts"].keys() - index):
            self.findings.add("index", named(place), "the index does not name this checkpoint, so nothing lists it")

    def times(self) -> None:
        """Check that all keys of the thread expire together."""
        ttls = {part: ttl for part, ttl in zip(THREAD_PARTS[:9], self.standing.ttls_ms[:9], strict=True) if ttl != -2}
        if not ttls:
            return
        mixed = -1 in ttls.values() and any(ttl >= 0 for ttl in ttls.values())
        if mixed or max(ttls.values()) - min(ttls.values()) > TTL_SLACK_MS:
            shown = ", ".join(f"{part} {'never' if ttl < 0 else f'{ttl} ms'}" for part, ttl in sorted(ttls.items()))
            self.findings.add("time to live", ", ".join(sorted(ttls)), f"the keys do not expire together: {shown}")
        own = self.standing.meta.get(b"ttl", b"0")
        if not own.isdigit():
            self.findings.add("time to live", "meta", "the thread's own time to live is no number")
        for part, ttl in zip(THREAD_PARTS[9:], self.standing.ttls_ms[9:], strict=True):
            if ttl == -1:
                self.findings.add("time to live", part, "this key must expire and never does")

    def registrations(self) -> Program[None]:
        """Check that listings and delete_for_runs find the thread."""
        if not self.outline.sizes["ckpts"]:
            return
        name = self.outline.thread_id.encode()
        (score,) = yield from whole.registry_scores(self.core, self.core.layout.shard_of(name), [name])
        if score is None:
            self.findings.add("registry", self.outline.thread_id, "no listing finds this thread")

    def run_index(self, runs: Set[str]) -> Program[None]:
        """Check that delete_for_runs finds the thread by every run that a checkpoint names."""
        digests = {run_digest(run_id): run_id for run_id in runs}
        scores = yield from whole.run_scores(
            self.core, [digest + self.outline.thread_id.encode() for digest in digests]
        )
        for (digest, run_id), score in zip(digests.items(), scores, strict=True):
            if score is None or digest not in self.outline.head.runs:
                self.findings.add("run index", run_id, "delete_for_runs does not find this thread by this run")
