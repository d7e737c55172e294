"""Exceptions, one for each status of the C library.

Every exception of the library is an :class:`Error`. Most are also one of Python's own kinds, so that code which
knows nothing of this package handles them: a file that cannot be opened is an :class:`OSError`, for example.
"""

from __future__ import annotations

from typing import Any, ClassVar


class Error(Exception):
    """A call into the library failed. ``str(error)`` names the thing, its value and what would be accepted."""

    #: Name of the C status, for example ``"SVIT_E_IO"``.
    status: ClassVar[str] = "SVIT_E_?"

    @property
    def message(self) -> str:
        """The library's message, which is for people: its wording may change in any release."""
        return str(self.args[0]) if self.args else ""

    def __str__(self) -> str:
        return self.message


class ArgumentError(Error, ValueError):
    """An argument, a field or an option is outside what is accepted."""

    status = "SVIT_E_ARGUMENT"


class OutOfMemoryError(Error, MemoryError):
    """There is not enough memory, or a size cannot be represented."""

    status = "SVIT_E_MEMORY"


class StateError(Error, RuntimeError):
    """Calls are out of order: a backward before a forward, or a folder that already has a run."""

    status = "SVIT_E_STATE"


class FileError(Error, OSError):
    """A file could not be opened, read, written or renamed. The message has the system's reason."""

    status = "SVIT_E_IO"

    def __reduce__(self) -> Any:
        return type(self), self.args, {"errno": self.errno}


class MissingFileError(FileError, FileNotFoundError):
    """There is no such file or folder."""


class FormatError(Error, ValueError):
    """A file or a text is damaged, or has another format."""

    status = "SVIT_E_FORMAT"


class VersionError(Error):
    """A file comes from a newer version of the library."""

    status = "SVIT_E_VERSION"


class StoppedError(Error):
    """A callback, or the stop function of a context, stopped the call."""

    status = "SVIT_E_STOPPED"


class UnsupportedError(Error, NotImplementedError):
    """What was asked for is valid, but not available in this build or on this machine."""

    status = "SVIT_E_UNSUPPORTED"


class NumericError(Error, ArithmeticError):
    """An input, a logit, a loss or a gradient is infinite or NaN."""

    status = "SVIT_E_NUMERIC"


KINDS: tuple[type[Error], ...] = (
    ArgumentError,
    OutOfMemoryError,
    StateError,
    FileError,
    FormatError,
    VersionError,
    StoppedError,
    UnsupportedError,
    NumericError,
)
