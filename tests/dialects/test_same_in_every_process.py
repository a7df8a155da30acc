"""Imports and exports do not depend on the process: Python orders its sets differently in each."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import sys
from hashlib import sha256
from pathlib import Path

from langgraph_portable_checkpoint import export_messages, import_messages
from langgraph_portable_checkpoint.dialects.registry import dialect_names, get_dialect
from langgraph_portable_checkpoint.errors import PortableCheckpointError

def told(make):
    try:
        return make()
    except PortableCheckpointError as error:
        return error

for path in sorted(Path(sys.argv[1]).rglob("*.json*")):
    if ".exchanges." in path.name or path.stat().st_size > 400_000:
        continue
    found = told(lambda: import_messages(path.read_text(encoding="utf-8"), from_="auto"))
    made = [repr(found)]
    if not isinstance(found, Exception):
        made[0] = repr([message.__dict__ for message in found.messages]) + repr(found.report)
        targets = [name for name in dialect_names() if get_dialect(name).writes]
        made += [repr(told(lambda: export_messages(found.messages, to=name))) for name in targets]
    print(path.name, *(sha256(one.encode()).hexdigest()[:12] for one in made))
"""


def printed(corpus: Path, *, seed: str) -> list[str]:
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", SCRIPT, str(corpus)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()


def test_recorded_histories_become_the_same_in_every_process(corpus: Path) -> None:
    first = printed(corpus, seed="1")
    assert sum(line.count(" ") > 1 for line in first) > 40
    assert printed(corpus, seed="2") == first
