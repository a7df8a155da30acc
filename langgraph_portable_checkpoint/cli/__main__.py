"""`python -m langgraph_portable_checkpoint.cli` is `portable-checkpoint`."""

from . import main

main()
