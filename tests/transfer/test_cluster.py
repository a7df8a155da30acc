"""Moving, backing up, checking and mending threads on a cluster."""

from __future__ import annotations

import io

from langgraph.checkpoint.memory import InMemorySaver

from langgraph_portable_checkpoint.saver import PortableRedisSaver
from langgraph_portable_checkpoint.storage.layout import Layout
from langgraph_portable_checkpoint.transfer.backup import backup
from langgraph_portable_checkpoint.transfer.checking import verify
from langgraph_portable_checkpoint.transfer.copying import copy_threads
from langgraph_portable_checkpoint.transfer.repairing import repair
from langgraph_portable_checkpoint.transfer.restoring import restore
from tests.servers import Cluster
from tests.transfer.threads import assert_same_thread, put_chain


def test_everything_works_on_a_cluster(cluster: Cluster) -> None:
    memory, back, file = InMemorySaver(), InMemorySaver(), io.BytesIO()
    ids = [f"thread {number}" for number in range(6)]
    for thread_id in ids:
        put_chain(memory, thread_id, versions=lambda number: f"{number:032}.5")
    with (
        PortableRedisSaver.from_url(cluster.url, cluster=True, prefix="moved") as saver,
        PortableRedisSaver.from_url(cluster.url, cluster=True, prefix="restored") as other,
    ):
        assert copy_threads(memory, saver).equal
        backup(saver, file)
        file.seek(0)
        assert restore(other, file).restored == len(ids)
        assert list(verify(other)) == []
        with cluster.client() as client:
            client.delete(Layout("restored").thread(ids[0])[3])
        assert {action.kind for action in repair(other, dry_run=False)} == {"index checkpoint"}
        assert list(verify(other)) == []
        assert copy_threads(other, back).equal
    for thread_id in ids:
        assert_same_thread(back, memory, thread_id)
