"""Channel versions spelled as the target's own, so that a graph goes on there.

LangGraph compares the versions of a channel with `>`. A saver that makes text versions, as InMemorySaver, SqliteSaver
and PostgresSaver do, cannot go on with a thread whose versions are numbers: its next one would be a text. It also keeps
values by (channel, version), where two branches of numbers collide. So numbers become texts of the form that such
savers make, `00000000000000000000000000000007.` and decimals, which tell the branch: the same number in two branches
gets two texts, the same version in a channel and in what nodes have seen of it gets one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any, Final

from langgraph.checkpoint.base import CheckpointTuple

from .steps import Place, Saver, place_of

Version = int | float | str
Texts = Mapping[tuple[str, Version], str]
"""(channel, number) -> text, as far as a checkpoint knows it."""
FRACTION_DIGITS: Final = 17
BRANCH_DIGITS: Final = 16


def makes_texts(saver: Saver) -> bool:
    """Whether a saver's own versions are texts."""
    return isinstance(saver.get_next_version(None, None), str)


def has_numbers(found: CheckpointTuple) -> bool:
    """Whether a checkpoint's versions are numbers; those of a thread are of one kind."""
    return any(not isinstance(version, str) for version in found.checkpoint["channel_versions"].values())


class Spelling:
    """Spells the versions of one thread's checkpoints, given oldest first; the same thread always the same."""

    def __init__(self) -> None:
        self._known: dict[Place, Texts] = {}

    @property
    def used(self) -> bool:
        """Whether there was anything to spell."""
        return bool(self._known)

    def spelled(self, found: CheckpointTuple) -> CheckpointTuple:
        """Return a checkpoint with texts for numbers."""
        if not has_numbers(found):
            return found
        place, parent = place_of(found), found.parent_config
        parent_id = parent["configurable"].get("checkpoint_id", "") if parent else ""
        inherited = self._known.get(Place(parent_id, place.checkpoint_ns), {})
        texts: dict[tuple[str, Version], str] = {}

        def text(channel: str, version: Any) -> Any:
            key = channel, version
            if isinstance(version, str):
                return version
            if key not in texts:
                texts[key] = inherited.get(key) or _text(version, place.checkpoint_id)
            return texts[key]

        checkpoint = {**found.checkpoint, **_versions(found, text)}
        self._known[place] = texts
        return found._replace(checkpoint=checkpoint)  # type: ignore[arg-type]  # the same keys


def _versions(found: CheckpointTuple, text: Callable[[str, Any], Any]) -> dict[str, Any]:
    seen = found.checkpoint["versions_seen"]
    return {
        "channel_versions": {
            name: text(name, version) for name, version in found.checkpoint["channel_versions"].items()
        },
        "versions_seen": {
            node: {name: text(name, version) for name, version in versions.items()} for node, versions in seen.items()
        },
    }


def _text(version: float, checkpoint_id: str) -> str:
    """Spell a number so that texts sort as numbers do; the last digits tell the branch."""
    whole = int(version)
    fraction = f"{version - whole:.{FRACTION_DIGITS}f}"[2:] if version != whole else "0"
    branch = int.from_bytes(blake2b(checkpoint_id.encode(), digest_size=8).digest()) % 10**BRANCH_DIGITS
    return f"{whole:032}.{fraction}.{branch:0{BRANCH_DIGITS}}"


def with_versions_of(found: CheckpointTuple, other: CheckpointTuple) -> CheckpointTuple:
    """Return a checkpoint with the versions of another."""
    names = ("channel_versions", "versions_seen")
    checkpoint = {**found.checkpoint, **{name: other.checkpoint[name] for name in names}}  # type: ignore[literal-required]  # both are its keys
    return found._replace(checkpoint=checkpoint)  # type: ignore[arg-type]  # the same keys
