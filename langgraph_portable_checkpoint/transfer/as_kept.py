"""What a saver of ours keeps of a checkpoint under its media policy.

A copy is a save by its target, so a target that strips media strips those of a copy; then the copy is compared with
what the target was to keep. Values go through the target's own encoder and decoder, in memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from langgraph.checkpoint.base import CheckpointTuple

from ..saver import PortableRedisSaver
from ..storage.encoder import Sink
from .steps import Saver

NOBODY: Final = "as kept"
"""The thread that values are encoded for; it is never stored."""


class AsKept:
    """Says what a target keeps of a source's checkpoints.

    Attributes:
        strips: Whether that may be less than there is.
        stripped: Whether some medium was left out since this was set to False.
    """

    def __init__(self, target: Saver) -> None:
        self.strips = isinstance(target, PortableRedisSaver) and target.media_policy.strips
        self.stripped = False
        if isinstance(target, PortableRedisSaver) and self.strips:
            self._core = target._core.stranger()
            self._view = self._core.fresh_view(NOBODY)

    def of(self, source: CheckpointTuple) -> CheckpointTuple:
        """Return a checkpoint as a read of the target gives it back; the very same where the target strips nothing."""
        if not self.strips:
            return source
        values = {name: self._kept(name, value) for name, value in source.checkpoint["channel_values"].items()}
        writes = [(task, name, self._kept(name, value)) for task, name, value in source.pending_writes or ()]
        kept: Any = {**self._rest(source.checkpoint), "channel_values": values}
        return source._replace(checkpoint=kept, pending_writes=writes)

    def _rest(self, checkpoint: Mapping[str, Any]) -> dict[str, Any]:
        sink = Sink()
        rest = self._core.encoder(self._view, NOBODY, sink).whole.rest(checkpoint)
        self._note(sink)
        return rest

    def _note(self, sink: Sink) -> None:
        self.stripped = self.stripped or any(report["reason"] == "stripped" for report in sink.reports)

    def _kept(self, name: str, value: Any) -> Any:
        sink = Sink()
        entry, _ = self._core.encoder(self._view, NOBODY, sink).channel(name, value)
        decoder = self._core.decoder(self._view, NOBODY, sink.items)
        decoder.media = {ref: medium.data for ref, medium in sink.media.items()}
        decoder.final = True
        self._note(sink)
        return decoder.channel(entry)[0]
