"""What a saver is told about media, checked when the saver is made, so that no save is the first to fail.

Owns the words of the refusals. Knows nothing of servers; opens nothing but the folder that a path names.
"""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path
from typing import Any, Final

from langgraph_portable_checkpoint.media.directory import DirectoryMediaStore
from langgraph_portable_checkpoint.media.hooks import NO_HOOKS, MediaHooks
from langgraph_portable_checkpoint.media.policy import MediaPolicy
from langgraph_portable_checkpoint.media.stores import THREADS_OWN, AsyncMediaStore, MediaStore, store_name

_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
"""A scheme has two letters at least: one is a drive. `pathlib` makes one slash of two."""
_DEFAULT_POLICY: Final = MediaPolicy()


def policy_from(option: object) -> MediaPolicy:
    """Read `media_policy=`: a policy, a mode, or some fields as a map, as a config may have it.

    Raises:
        ValueError: it is none of these, or makes no sense.

    >>> policy_from("strip").mode, policy_from({"min_bytes": 10}).min_bytes
    ('strip', 10)
    """
    return _DEFAULT_POLICY.override(option)


def store_from(option: Any) -> Any:
    """Read `media_store=`: a store, or the path of a folder, in which "~" is the user's.

    Raises:
        ValueError: the path names no folder: it is empty, a URL, or something else stands there; or the store has a
            name that the media table cannot tell from others.
        TypeError: it is no store.
    """
    if isinstance(option, (str, os.PathLike)):
        return DirectoryMediaStore(_folder(option))
    if option is None:
        return None
    if not isinstance(option, type) and isinstance(option, (MediaStore, AsyncMediaStore)):
        _check_name(store_name(option))
        return option
    what = f"the class {option.__name__}, not an object of it" if isinstance(option, type) else type(option).__name__
    raise TypeError(
        f"media_store is {what}. Pass the path of a folder, or an object with put() and get(), or aput() and aget(): "
        "see MediaStore"
    )


def hooks_from(option: object) -> MediaHooks:
    """Read `media_hooks=`; None is none.

    Raises:
        TypeError: these are no hooks.
    """
    if option is None:
        return NO_HOOKS
    if isinstance(option, MediaHooks):
        return option
    raise TypeError(f"media_hooks is {option!r:.80}. Pass MediaHooks(on_missing=...), or None")


def seconds_from(option: object) -> float:
    """Read `media_timeout_seconds=`.

    Raises:
        ValueError: it is no time that one can wait.
    """
    match option:
        case bool():
            pass
        case int() | float() if 0 < option <= threading.TIMEOUT_MAX:
            return float(option)
    raise ValueError(f"media_timeout_seconds is {option!r:.40}; it must be a positive number of seconds, such as 30")


def _check_name(name: str) -> None:
    """Refuse a name that media table records cannot say, or by which they mean something else."""
    if name and name != THREADS_OWN and not any("\ud800" <= char <= "\udfff" for char in name):
        return
    reserved = ", which is what the media table calls the thread's own keys" if name == THREADS_OWN else ""
    raise ValueError(
        f"the media store's name is {name!r:.80}{reserved}. Other processes would not find its media: give it a `name` "
        "that is not empty, that UTF-8 can spell, and that no other store of these threads has"
    )


def _folder(path: str | os.PathLike[str]) -> Path:
    named: Any = os.fspath(path)
    if not isinstance(named, str) or not named:
        raise ValueError(f'media_store is {named!r}. Name a folder, such as "./media"')
    if _URL.match(named):
        raise ValueError(
            f"media_store is {named!r:.200}, a URL and no folder. Pass ObjectMediaStore.from_url(...) for a bucket "
            "(extra s3), or the path of a folder without a scheme"
        )
    folder = Path(named).expanduser()
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"media_store is {named!r:.200}, which is there and is no folder")
    return folder
