"""A LangGraph checkpointer on plain Redis and Valkey that keeps conversations portable."""

from .saver import PortableRedisSaver

__all__ = ["PortableRedisSaver"]
