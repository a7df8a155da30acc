"""Claude Code: session files and the SDK's stream, read only. `dialect.py` owns the tables, `tree.py` the path."""
