"""Dialects: one file per native form of a conversation, both directions, over one shared normaliser."""
