"""Codex: rollout files and exec streams, read only. `dialect.py` owns the tables; each module says what it owns."""
