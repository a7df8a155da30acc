"""Making a thread of one of our savers at once, in the place of the one that was there, or of none."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Self

from ..saver import PortableRedisSaver
from ..storage.effects import Program
from ..storage.programs import overwriting
from ..storage.programs.overwriting import Standing


@dataclass(frozen=True, slots=True)
class Overwriting:
    """One thread that is to be overwritten.

    Attributes:
        staged: A saver that writes what is to take the thread's place, under the same thread id.
    """

    saver: PortableRedisSaver
    staged: PortableRedisSaver
    thread_id: str

    @classmethod
    def of(cls, saver: PortableRedisSaver, thread_id: str) -> Self:
        """Prepare to overwrite; nothing is asked of the server."""
        staged = copy.copy(saver)
        staged._core = overwriting.staging_of(saver._core)
        return cls(saver, staged, thread_id)

    def begin(self) -> Program[Standing]:
        """Return the program that comes before anything is staged."""
        token = self.saver._token(self.thread_id)
        return overwriting.begin(self.saver._core, self.thread_id, token=token)

    def drop(self) -> Program[None]:
        """Return the program that gives it up."""
        return overwriting.drop(self.staged._core, self.thread_id)

    def swap(self, before: Standing, *, checkpoints: int, ttl: bytes = b"") -> Program[None]:
        """Return the program that ends it; see `storage.programs.overwriting.swap`."""
        core, staging, token = self.saver._core, self.staged._core, self.saver._token(self.thread_id)
        return overwriting.swap(core, staging, self.thread_id, before, checkpoints=checkpoints, token=token, ttl=ttl)
