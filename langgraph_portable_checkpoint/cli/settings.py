"""Where a command finds its threads: options, then the environment, then the config file.

Knows the names of the settings and how they are resolved; opens the saver. A password reaches neither words nor data:
what is secret in a URL is made known to the output before anything can fail.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from .output import Output

if TYPE_CHECKING:
    from ..saver import PortableRedisSaver

CONFIG_VARIABLE: Final = "PORTABLE_CHECKPOINT_CONFIG"
KEY_VARIABLE: Final = "LANGGRAPH_AES_KEY"
VARIABLES: Final[Mapping[str, str]] = {
    "redis_url": "PORTABLE_CHECKPOINT_REDIS_URL",
    "data": "PORTABLE_CHECKPOINT_DATA",
    "prefix": "PORTABLE_CHECKPOINT_PREFIX",
    "media": "PORTABLE_CHECKPOINT_MEDIA",
}
SCHEMES: Final = ("redis", "rediss", "unix")


class UsageError(ValueError):
    """The command was used wrongly; the message says how to use it."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Which server and which threads on it."""

    redis_url: str | None = None
    """redis://, rediss:// or unix://; exclusive with `data`."""
    data: str | None = None
    """The folder of an embedded server."""
    prefix: str | None = None
    """Starts every key."""
    media: str | None = None
    """The folder of a directory media store."""
    cluster: bool = False
    """Whether the URL names a node of a cluster."""
    encrypted: bool = False
    """Whether threads are encrypted, with the key in LANGGRAPH_AES_KEY."""

    def open(self, *, makes: bool = True) -> PortableRedisSaver:
        """Open the saver that these settings name.

        Args:
            makes: Whether to make the folder of an embedded server.

        Raises:
            UsageError: no server or two are named, the URL is none, a key is missing, or the folder is.
        """
        from ..saver import PortableRedisSaver

        options = self.options()
        if self.data is not None:
            folder = Path(self.data).expanduser()
            if not makes and not folder.exists():
                raise UsageError(f"there is no folder {folder}, so no threads either. Check --data.")
            return PortableRedisSaver.embedded(folder, **options)
        assert self.redis_url is not None
        try:
            return PortableRedisSaver.from_url(self.redis_url, cluster=self.cluster, **options)
        except ValueError as error:
            raise UsageError(f"the URL of the server is not one that the client takes: {error}") from error

    def options(self) -> dict[str, Any]:
        """Return what the saver's constructor takes.

        Raises:
            UsageError: the key of encrypted threads is missing.
        """
        options: dict[str, Any] = {}
        if self.prefix is not None:
            options["prefix"] = self.prefix
        if self.media is not None:
            options["media_store"] = _media_folder(self.media)
        if self.encrypted:
            options["serde"] = _encrypting()
        return options

    def checked(self) -> Settings:
        """Return these settings if they name exactly one server.

        Raises:
            UsageError: they do not.
        """
        if self.redis_url is None and self.data is None:
            raise UsageError(
                "no server is named. Give --redis-url URL or --data FOLDER, or set PORTABLE_CHECKPOINT_REDIS_URL."
            )
        if self.redis_url is not None and urlsplit(self.redis_url).scheme not in SCHEMES:
            raise UsageError("the URL of the server must start with redis://, rediss:// or unix://.")
        return self


def resolve(
    given: Mapping[str, Any], *, config: Path | None, environ: Mapping[str, str], server: bool = True
) -> Settings:
    """Merge what was given on the command line, in the environment and in the config file, in this order.

    A server named in one place hides the server of all later places, so an option `--data` wins over a URL in the
    environment.

    Args:
        server: Whether a server must be named.

    Raises:
        UsageError: the config file cannot be read or holds an unknown setting, or two servers are named in one place.
    """
    layers = [
        ("the command line", {name: value for name, value in given.items() if value is not None}),
        ("the environment", {name: environ[key] for name, key in VARIABLES.items() if environ.get(key)}),
        ("the config file", read_config(config, environ)),
    ]
    merged: dict[str, Any] = {}
    for place, layer in layers:
        if {"redis_url", "data"} <= layer.keys():
            raise UsageError(f"{place} names two servers: a URL and a data folder. Name one of them.")
        if {"redis_url", "data"} & merged.keys():
            layer = {name: value for name, value in layer.items() if name not in ("redis_url", "data", "cluster")}
        merged = {**layer, **merged}
    settings = Settings(**merged)
    return settings.checked() if server else settings


def read_config(path: Path | None, environ: Mapping[str, str]) -> dict[str, Any]:
    """Read the config file: TOML with the names of `Settings`. The default place may be empty.

    Raises:
        UsageError: the file that was asked for is missing, is no TOML, or holds an unknown setting.
    """
    named = path or (Path(environ[CONFIG_VARIABLE]) if environ.get(CONFIG_VARIABLE) else None)
    place = named or _default_config(environ)
    import tomllib

    try:
        found = tomllib.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if named is None:
            return {}
        raise UsageError(f"there is no config file {place}.") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"the config file {place} cannot be read: {error}.") from None
    _check_config(found, place)
    return found


def _check_config(found: Mapping[str, Any], place: Path) -> None:
    known = {field.name: bool if field.name in ("cluster", "encrypted") else str for field in fields(Settings)}
    wrong = [name for name, value in found.items() if not isinstance(value, known.get(name, ()))]
    if wrong:
        raise UsageError(
            f"the config file {place} has settings that are unknown or of the wrong type: {', '.join(wrong)}. "
            f"Known are {', '.join(known)}."
        )


def _default_config(environ: Mapping[str, str]) -> Path:
    base = environ.get("XDG_CONFIG_HOME") or str(Path(environ.get("HOME", "~")).expanduser() / ".config")
    return Path(base) / "portable-checkpoint" / "config.toml"


def secrets_of(url: str | None) -> list[str]:
    """Return what of a URL must not be shown, in both spellings."""
    if not url:
        return []
    try:
        parts = urlsplit(url)
        found = [parts.password, *(value for key, value in parse_qsl(parts.query) if "password" in key)]
    except ValueError:
        return [url]
    return [spelling for secret in found if secret for spelling in (secret, unquote(secret))]


def hide_secrets(output: Output, *urls: str | None) -> None:
    """Make the secrets of URLs, and the key of encrypted threads, known to the output."""
    for url in urls:
        output.hide(*secrets_of(url))
    output.hide(os.environ.get(KEY_VARIABLE))


def _media_folder(path: str) -> Any:
    from ..media.options import store_from

    try:
        return store_from(path)
    except ValueError as error:
        raise UsageError(f"--media does not name a folder: {error}.") from None


def _encrypting() -> Any:
    from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

    from ..serde import DataSerializer

    if not os.environ.get(KEY_VARIABLE):
        raise UsageError(f"--encrypted needs the key of the threads in {KEY_VARIABLE}.")
    try:
        return EncryptedSerializer.from_pycryptodome_aes(serde=DataSerializer())
    except ImportError:
        raise UsageError("--encrypted needs pycryptodome: install langgraph-portable-checkpoint[encryption].") from None
    except ValueError as error:
        raise UsageError(f"the key in {KEY_VARIABLE} does not serve: {error}.") from None
