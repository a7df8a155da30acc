"""The default serializer reads data only: what stored bytes name is neither imported nor called, and stays stored."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import ormsgpack
import pytest
from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.checkpoint.serde import jsonplus
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from pydantic import BaseModel

from langgraph_portable_checkpoint import errors
from langgraph_portable_checkpoint.serde import DataSerializer
from tests.saver.calls import Calls
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.saver.conftest import SaverFactory

CALLED: list[Any] = []


def recorded(*args: Any, **kwargs: Any) -> str:
    """Stands for a function that must not be called by what is stored."""
    CALLED.append((args, kwargs))
    return "called"


class Machine:
    """No data class: making one does something."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        recorded(*args, **kwargs)

    @classmethod
    def start(cls, argument: Any) -> Any:
        return recorded(argument)


FORMS = {
    "one argument": (jsonplus.EXT_CONSTRUCTOR_SINGLE_ARG, ("x",)),
    "positional arguments": (jsonplus.EXT_CONSTRUCTOR_POS_ARGS, (["x"],)),
    "named arguments": (jsonplus.EXT_CONSTRUCTOR_KW_ARGS, ({"a": "x"},)),
    "a method": (jsonplus.EXT_METHOD_SINGLE_ARG, ("x", "start")),
    "a pydantic model": (jsonplus.EXT_PYDANTIC_V2, ({"a": "x"}, "model_validate_json")),
    "an old pydantic model": (jsonplus.EXT_PYDANTIC_V1, ({"a": "x"}, "construct")),
}


def stored(form: str, module: str, name: str) -> tuple[str, bytes]:
    """Spell what an attacker with write access to the server would."""
    code, rest = FORMS[form]
    return "msgpack", ormsgpack.packb([ormsgpack.Ext(code, ormsgpack.packb([module, name, *rest]))])


@pytest.fixture(autouse=True)
def nothing_called() -> Iterator[None]:
    CALLED.clear()
    yield
    assert CALLED == []


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["recorded", "Machine"])
def test_callable_of_an_imported_module_is_named_and_not_called(form: str, name: str) -> None:
    with pytest.raises(errors.BlockedTypeError, match=rf"{__name__}\.{name}"):
        DataSerializer().loads_typed(stored(form, __name__, name))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("module", "name"), [("os", "system"), ("builtins", "eval"), ("subprocess", "Popen")])
def test_functions_of_the_standard_library_are_refused(form: str, module: str, name: str, tmp_path: Path) -> None:
    with pytest.raises(errors.BlockedTypeError, match=rf"{module}\.{name}"):
        DataSerializer().loads_typed(stored(form, module, name))


@pytest.mark.parametrize("form", FORMS)
def test_module_that_is_not_imported_stays_so(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lpc_trap.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(errors.BlockedTypeError, match=r"lpc_trap\.Trap"):
        DataSerializer().loads_typed(stored(form, "lpc_trap", "Trap"))
    assert "lpc_trap" not in sys.modules


def test_refusal_does_not_outlive_its_value() -> None:
    serializer = DataSerializer()
    with pytest.raises(errors.BlockedTypeError):
        serializer.loads_typed(stored("one argument", "os", "system"))
    assert serializer.loads_typed(serializer.dumps_typed({"a": [1, HumanMessage("hi", id="1")]})) == {
        "a": [1, HumanMessage("hi", id="1")]
    }


def test_name_on_the_allowlist_is_imported_and_called() -> None:
    serializer = DataSerializer([("collections", "OrderedDict")])
    assert serializer.loads_typed(stored("named arguments", "collections", "OrderedDict")) == [{"a": "x"}]
    with pytest.raises(errors.BlockedTypeError):
        serializer.loads_typed(stored("named arguments", "collections", "ChainMap"))


class _Order(BaseModel):
    pieces: int


@pytest.mark.parametrize("inside", ["a channel", "a pending write"])
def test_value_of_a_type_that_is_not_imported_is_refused_and_stays_stored(
    make_saver: SaverFactory, calls: Calls, monkeypatch: pytest.MonkeyPatch, inside: str
) -> None:
    module = ModuleType("lpc_orders")
    order = type("Order", (_Order,), {"__module__": "lpc_orders"})
    module.Order = order  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "lpc_orders", module)
    saver = make_saver()
    values = {"v": order(pieces=2)} if inside == "a channel" else {}
    place = calls.put(
        saver, config("t"), checkpoint(values, dict.fromkeys(values, 1)), metadata(), dict.fromkeys(values, 1)
    )
    if not values:
        calls.put_writes(saver, place, [("v", order(pieces=2))], "task")
    expected = calls.get_tuple(make_saver(), config("t"))
    monkeypatch.delitem(sys.modules, "lpc_orders")
    for _ in range(2):
        with pytest.raises(errors.BlockedTypeError, match=r"lpc_orders\.Order"):
            calls.get_tuple(make_saver(), config("t"))
    monkeypatch.setitem(sys.modules, "lpc_orders", module)
    assert calls.get_tuple(make_saver(), config("t")) == expected


def _shouting(code: int, data: bytes) -> Any:
    made = jsonplus._create_msgpack_ext_hook(None)(code, data)
    return made.model_copy(update={"content": made.content.upper()}) if isinstance(made, BaseMessage) else made


class _Shouting(DataSerializer):
    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        message = super().loads_typed(data)
        return message.model_copy(update={"content": "!"})


@pytest.mark.parametrize("again", [False, True], ids=["same saver", "another saver"])
@pytest.mark.parametrize(
    "serde", [JsonPlusSerializer(__unpack_ext_hook__=_shouting), _Shouting()], ids=["a hook", "a class"]
)
def test_serializer_that_reads_messages_its_own_way_does_so(
    make_saver: SaverFactory, calls: Calls, serde: Any, again: bool
) -> None:
    saver = make_saver(serde=serde)
    said = [HumanMessage("hi", id="a")]
    place = calls.put(saver, config("t"), checkpoint({"messages": said}), metadata(), {"messages": 1})
    for _ in range(2):
        found = calls.get_tuple(make_saver(serde=serde) if again else saver, place)
        assert found is not None
        (message,) = found.checkpoint["channel_values"]["messages"]
        assert message.content == ("!" if isinstance(serde, _Shouting) else "HI")
