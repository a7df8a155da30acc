"""Linters: one file per provider, each checking a native history, ours or anyone's, against the provider's rules."""
