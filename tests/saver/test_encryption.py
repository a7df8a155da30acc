"""With an encrypting serializer nothing readable is in Redis, and nothing that was moved or planted is believed."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage, messages_from_dict, messages_to_dict
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from langgraph_portable_checkpoint import errors
from tests.saver.calls import Calls
from tests.saver.checkpoints import checkpoint, config, metadata, put_all
from tests.saver.conftest import SaverFactory
from tests.saver.graphs import SCENARIOS
from tests.saver.model import ModelSaver
from tests.saver.same import assert_same, comparable
from tests.saver.test_graphs import played
from tests.saver.zoo import ZOO

SECRETS = [
    *("secret-question", "secret-argument", "secret-result", "secret-metadata", "secret-run-id", "secret-message-id"),
    *("secret-call-id", "secret-write", "secret-dict-key", "secret-list-entry", "secret-name", "secret-signature"),
    "secret-task-id",
]


def encrypting(key: bytes = b"0123456789abcdef") -> EncryptedSerializer:
    """Return LangGraph's own encrypting serializer."""
    return EncryptedSerializer.from_pycryptodome_aes(key=key)


def put_secrets(calls: Calls, saver: Any, thread_id: str = "t") -> Any:
    """Put one checkpoint that has a secret in every place that holds content."""
    call = {"name": "secret-name", "args": {"q": "secret-argument"}, "id": "secret-call-id", "type": "tool_call"}
    thinking = {"type": "thinking", "thinking": "x", "signature": "secret-signature"}
    values = {
        "messages": [
            HumanMessage("secret-question", id="secret-message-id"),
            AIMessage([thinking, {"type": "text", "text": "secret-question"}], tool_calls=[call]),
            ToolMessage("secret-result", tool_call_id="secret-call-id", artifact={"k": "secret-result"}),
        ],
        "entries": [f"secret-list-entry {number}" for number in range(300)],
        "map": {f"secret-dict-key {number}": number for number in range(100)},
        "blob": b"secret-result" * 10_000,
    }
    made = checkpoint(values)
    put = calls.put(
        saver,
        config(thread_id),
        made,
        metadata(run_id="secret-run-id", user="secret-metadata"),
        made["channel_versions"],
    )
    calls.put_writes(
        saver,
        put,
        [("messages", [HumanMessage("secret-write", id="secret-message-id")]), ("n", "secret-write")],
        "secret-task-id",
    )
    return put


def dump(factory: SaverFactory) -> dict[bytes, dict[bytes, bytes]]:
    """Read all that is stored with a bare client, keys and fields included."""
    found: dict[bytes, dict[bytes, bytes]] = {}
    with factory.room.client() as client:
        for key in factory.stored():
            kind = client.type(key)
            if kind == b"hash":
                found[key] = client.hgetall(key)
            elif kind == b"zset":
                found[key] = dict.fromkeys(client.zrange(key, 0, -1), b"")
            else:
                found[key] = dict.fromkeys(client.smembers(key), b"") if kind == b"set" else {b"": client.get(key)}
    return found


def _everything(factory: SaverFactory) -> bytes:
    return b"\n".join(
        key + b"\n" + b"\n".join(field + b"\n" + value for field, value in fields.items())
        for key, fields in dump(factory).items()
    )


def _spellings(secret: str) -> set[bytes]:
    plain = secret.encode()
    return {plain, base64.b64encode(plain)[:-4], plain.hex().encode(), plain.upper()}


def test_nothing_readable_is_in_the_server(make_saver: SaverFactory, calls: Calls) -> None:
    put_secrets(calls, make_saver(serde=encrypting()))
    found = _everything(make_saver)
    assert [secret for secret in SECRETS for spelling in _spellings(secret) if spelling in found] == []


def test_the_secrets_are_found_when_nothing_is_encrypted(make_saver: SaverFactory, calls: Calls) -> None:
    """The test above could not fail if the dump missed the places where content is."""
    put_secrets(calls, make_saver())
    found = _everything(make_saver)
    assert [secret for secret in SECRETS if secret.encode() not in found] in ([], ["secret-run-id"])


def test_encrypted_thread_reads_back_as_from_memory(make_saver: SaverFactory, oracle: ModelSaver, calls: Calls) -> None:
    saver = make_saver(serde=encrypting())
    values = {name: make() for name, make in ZOO.items()}
    versions = dict.fromkeys(values, 1)
    put = put_all(calls, [saver, oracle], config("t"), checkpoint(values), versions, user="ada")
    for each in (saver, oracle):
        calls.put_writes(each, put, list(values.items()), "task")
    assert_same(comparable(calls.get_tuple(make_saver(serde=encrypting()), put)), comparable(oracle.get_tuple(put)))
    assert [found.metadata["user"] for found in calls.list(saver, None, filter={"user": "ada"})] == ["ada"]
    assert calls.list(saver, None, filter={"user": "bob"}) == []


@pytest.mark.parametrize("name", ["conversation", "parallel_interrupts", "time_travel", "delta_channel", "subgraph"])
def test_graph_on_an_encrypted_saver(make_saver: SaverFactory, oracle: ModelSaver, calls: Calls, name: str) -> None:
    ours = played(name, make_saver(serde=encrypting()), calls, "async")
    assert_same(ours, played(name, oracle, calls, "async"))
    assert SCENARIOS[name]


def test_equal_messages_of_two_threads_cannot_be_seen_to_be_equal(make_saver: SaverFactory, calls: Calls) -> None:
    saver = make_saver(serde=encrypting())
    for thread_id in "ab":
        put_secrets(calls, saver, thread_id)
    fields = [set(found) for key, found in dump(make_saver).items() if key.endswith(b":items")]
    assert len(fields) == 2
    assert not fields[0] & fields[1]


def test_deduplication_works_within_an_encrypted_thread(make_saver: SaverFactory, calls: Calls) -> None:
    saver, place = make_saver(serde=encrypting()), config("t")
    messages = [HumanMessage(f"message {number} " * 100, id=str(number)) for number in range(50)]
    for step in range(20):
        place = calls.put(saver, place, checkpoint({"messages": messages}), metadata(step), {"messages": step + 1})
    assert len(_everything(make_saver)) < 3 * sum(len(message.text) for message in messages)


def test_wrong_key_is_a_typed_error(make_saver: SaverFactory, calls: Calls) -> None:
    put = put_secrets(calls, make_saver(serde=encrypting()))
    for other in (encrypting(b"fedcba9876543210"), None):
        saver = make_saver(serde=other)
        with pytest.raises(errors.CorruptRecordError):
            calls.get_tuple(saver, put)
        with pytest.raises(errors.CorruptRecordError):
            calls.list(saver, None)


def test_plaintext_thread_is_refused_by_an_encrypted_saver(make_saver: SaverFactory, calls: Calls) -> None:
    put = put_secrets(calls, make_saver())
    with pytest.raises(errors.PlaintextRecordError):
        calls.get_tuple(make_saver(serde=encrypting()), put)


def _tamper(factory: SaverFactory, plant: Callable[[Any, bytes, bytes, bytes], list[bytes]]) -> list[str]:
    """Replace every value in turn by each that `plant` offers; return where that went unnoticed."""
    saver = factory(serde=encrypting())
    place = put_secrets(Calls(), saver)
    expected = comparable(saver.get_tuple(place))
    unnoticed = []
    with factory.room.client() as client:
        for key, found in dump(factory).items():
            if client.type(key) != b"hash":
                continue
            for field, value in found.items():
                for planted in plant(found, key, field, value):
                    client.hset(key, field, planted)
                    try:
                        read = comparable(factory(serde=encrypting()).get_tuple(place))
                        assert_same(read, expected)
                    except errors.StorageError:
                        pass
                    except AssertionError:
                        if "not available" in str(read):  # media may become a placeholder
                            continue
                        unnoticed.append(f"{key!r} {field!r}")
                client.hset(key, field, value)
    return unnoticed


def test_ciphertexts_that_swapped_places_are_noticed(make_saver: SaverFactory) -> None:
    def swap(found: Any, key: bytes, field: bytes, value: bytes) -> list[bytes]:
        return [other for other in list(found.values())[:6] if other != value]

    assert _tamper(make_saver, swap) == []


def test_changed_ciphertexts_are_noticed(make_saver: SaverFactory) -> None:
    def change(found: Any, key: bytes, field: bytes, value: bytes) -> list[bytes]:
        half = len(value) // 2
        return [value[:half] + bytes([value[half] ^ 1]) + value[half + 1 :], value[:-1]] if value else []

    assert _tamper(make_saver, change) == []


def test_planted_plaintext_records_are_refused(make_saver: SaverFactory) -> None:
    """An attacker who can write to the server copies records of a plain thread of the same content over the sealed ones."""
    plain = SaverFactory(make_saver.room)
    put_secrets(Calls(), plain(prefix=f"{make_saver.room.prefix}:plain"))
    records = {
        key.rsplit(b":", 1)[1]: list(found.values())[:4] for key, found in dump(plain).items() if b":plain:" in key
    }
    plain.close()

    def plant(found: Any, key: bytes, field: bytes, value: bytes) -> list[bytes]:
        return [] if b":plain:" in key else records.get(key.rsplit(b":", 1)[1], [])

    assert _tamper(make_saver, plant) == []


def test_checkpoint_moved_to_another_id_is_noticed(make_saver: SaverFactory, calls: Calls) -> None:
    """Old state must not be passed off as new: a record belongs to its thread, namespace and id."""
    saver = make_saver(serde=encrypting())
    old = put_secrets(calls, saver)
    new = calls.put(saver, old, checkpoint({"n": 2}), metadata(1), {"n": 2})
    old_id, new_id = (place["configurable"]["checkpoint_id"].encode() for place in (old, new))
    with make_saver.room.client() as client:
        for key, found in dump(make_saver).items():
            if key.endswith(b":ckpts"):
                (source,), (target,) = ([field for field in found if field.endswith(name)] for name in (old_id, new_id))
                client.hset(key, target, found[source])
    with pytest.raises(errors.CorruptRecordError):
        calls.get_tuple(make_saver(serde=encrypting()), new)


class JsonSerializer:
    """A user's serializer that knows JSON and messages, and nothing of msgpack."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        return "toy", json.dumps(obj, default=self._message).encode()

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        assert data[0] == "toy"
        return json.loads(data[1], object_hook=self._back)

    @staticmethod
    def _message(value: Any) -> Any:
        return {"!message": messages_to_dict([value])[0]}

    @staticmethod
    def _back(value: dict[str, Any]) -> Any:
        return messages_from_dict([value["!message"]])[0] if "!message" in value else value


class Unlucky:
    """A value that only pickle can store."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unlucky)

    def __hash__(self) -> int:
        return 0

    def __reduce__(self) -> Any:
        return Unlucky, ()


CUSTOM: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "json": (JsonSerializer, lambda: [HumanMessage("x", id="1"), AIMessage("y", id="2"), {"a": [1, None, "z"]}]),
    "json, long list": (JsonSerializer, lambda: [HumanMessage(str(number), id=str(number)) for number in range(300)]),
    "json, plain": (JsonSerializer, lambda: {"a": {"b": [1.5, True, None]}, "c": "x" * 2000}),
    "pickle fallback": (lambda: JsonPlusSerializer(pickle_fallback=True), lambda: [Unlucky(), 1, HumanMessage("x")]),
    "pickle fallback, encrypted": (
        lambda: EncryptedSerializer.from_pycryptodome_aes(
            serde=JsonPlusSerializer(pickle_fallback=True), key=b"k" * 16
        ),
        lambda: {"a": Unlucky()},
    ),
    "subclass": (type("Mine", (JsonPlusSerializer,), {}), lambda: [HumanMessage("x"), {1, 2}]),
}


@pytest.mark.parametrize("name", CUSTOM)
def test_users_serializer_stores_what_it_stores_in_memory(make_saver: SaverFactory, calls: Calls, name: str) -> None:
    serde, value = CUSTOM[name][0](), CUSTOM[name][1]
    saver, memory = make_saver(serde=serde), ModelSaver(serde=serde)
    put = put_all(calls, [saver, memory], config("t"), checkpoint({"messages": value()}), {"messages": 1})
    for each in (saver, memory):
        calls.put_writes(each, put, [("messages", value())], "task")
    assert_same(comparable(calls.get_tuple(make_saver(serde=serde), put)), comparable(memory.get_tuple(put)))
