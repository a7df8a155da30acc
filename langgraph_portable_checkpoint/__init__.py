"""A LangGraph checkpointer on plain Redis and Valkey that keeps conversations portable."""
