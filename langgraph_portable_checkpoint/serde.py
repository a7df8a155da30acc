"""The default serializer: LangGraph's own, reading back data types only.

LangGraph's default imports and calls whatever a stored value names. This one imports nothing: it rebuilds LangGraph's
safe types, and classes that this process has already imported and that only hold data (pydantic models, dataclasses,
enums, named tuples). A class that its module does not hold under its name, such as one made inside a function, comes
back as its plain data, as LangGraph has it. Anything else that stored bytes name is refused with `BlockedTypeError`,
and stays stored.
"""

from __future__ import annotations

import dataclasses
import enum
import sys
from collections.abc import Iterable, Set
from threading import local
from typing import Any, Final

from langgraph.checkpoint.serde import jsonplus
from langgraph.checkpoint.serde.event_hooks import SerdeEvent, register_serde_event_listener
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from pydantic import BaseModel

from .errors import BlockedTypeError

_SECRETS: Final = ("SecretStr", "SecretBytes")


class _Refused(local):
    """What the present decoding has refused, per thread of execution."""

    def __init__(self) -> None:
        self.names: list[tuple[str, ...]] = []


_refused: Final = _Refused()


def _note_method(event: SerdeEvent) -> None:
    """Note a method that a stored value names; LangGraph's reader calls none but one of datetime, and asks nobody."""
    if event["kind"] == "msgpack_method_blocked":
        _refused.names.append((event["module"], event["name"], event.get("method", "")))


register_serde_event_listener(_note_method)


def _holds_data_only(found: Any) -> bool:
    if not isinstance(found, type):
        return False
    return (
        issubclass(found, (BaseModel, enum.Enum))
        or dataclasses.is_dataclass(found)
        or (issubclass(found, tuple) and hasattr(found, "_fields"))
        or any(base.__module__.startswith("pydantic.v1") for base in found.__mro__)
        or (found.__module__.startswith("pydantic") and found.__name__ in _SECRETS)
    )


class DataTypes:
    """The names that may be rebuilt, as the container that LangGraph's reader asks."""

    def __init__(self, extra: Set[tuple[str, ...]] = frozenset()) -> None:
        self.extra = extra

    def __contains__(self, key: tuple[Any, ...]) -> bool:
        if key in self.extra:
            return True
        module, name = key
        holder = sys.modules.get(module) if isinstance(module, str) and isinstance(name, str) else None
        names = {} if holder is None else vars(holder)
        # Where a name is missing there is nothing to call, and LangGraph's reader gives the data back. A module that
        # makes names up when asked for them (PEP 562) is not asked.
        missing = holder is not None and name not in names and "__getattr__" not in names
        if missing or _holds_data_only(names.get(name)):
            return True
        _refused.names.append(key)
        return False


class DataSerializer(JsonPlusSerializer):
    """LangGraph's serializer that rebuilds data types and imports nothing. Writes what JsonPlusSerializer writes.

    Args:
        extra: Further (module, name) pairs that may be imported and called.
    """

    reads_messages_as_langgraph: Final = True
    """True of this class, not of those derived from it."""

    def __init__(self, extra: Iterable[tuple[str, ...] | type] = ()) -> None:
        super().__init__(allowed_msgpack_modules=None)
        named = {(e.__module__, e.__name__) if isinstance(e, type) else tuple(e) for e in extra}
        self._types = DataTypes(frozenset(named))
        self._unpack_ext_hook = jsonplus._create_msgpack_ext_hook(self._types)  # type: ignore[arg-type]  # a container

    def with_msgpack_allowlist(self, extra_allowlist: Iterable[tuple[str, ...] | type]) -> JsonPlusSerializer:
        """Return a serializer that may import these as well."""
        return DataSerializer([*self._types.extra, *extra_allowlist])

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Read a value.

        Raises:
            BlockedTypeError: the value names a type outside the allowlist.
        """
        _refused.names = []
        value = super().loads_typed(data)
        if _refused.names:
            named = ", ".join(sorted({".".join(map(str, name)) for name in _refused.names}))
            _refused.names = []
            raise BlockedTypeError(
                f"a stored value names {named}, which is not a data class that this process has imported. Nothing was "
                "imported or called, and the value stays stored. If the type is yours, import its module before "
                "reading, or pass serde=DataSerializer([(module, name)])."
            )
        return value
