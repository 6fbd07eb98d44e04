"""What goes wrong: one class for each code of the library, all of them kinds of :class:`Error`.

Where Python has a class of the same meaning, ours is one of its kind too: ``except MemoryError`` works as expected.
docs/contracts/errors.md says when each comes and what may be done next.
"""
from __future__ import annotations


class Error(Exception):
    """A failure of Ingle.

    Attributes:
        code: the number of the C API (``ingle_code``).
        where: the argument, option, file, tensor, … that is at fault.
        message: what was found and what was expected.
        hint: what to do about it; may be empty.
    """

    code: int = 0

    def __init__(self, where: str, message: str, hint: str = "", code: int | None = None) -> None:
        super().__init__(f"{where}: {message}" + (f" ({hint})" if hint else ""))
        self.where = where
        self.message = message
        self.hint = hint
        if code is not None:
            self.code = code

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.where, self.message, self.hint, self.code)

    def __str__(self) -> str:
        return str(self.args[0])


class InvalidArgumentError(Error, ValueError):
    """An argument or option is out of its range, of the wrong kind, or comes at the wrong time."""

    code = 1


class NotFoundError(Error, LookupError):
    """No such file, tensor, option, …"""

    code = 2


class FileError(Error, OSError):
    """The operating system failed to read or write."""

    code = 3


class CorruptError(Error):
    """A file breaks its own format's rules."""

    code = 4


class UnsupportedError(Error):
    """Well-formed, but not something that this build can hold."""

    code = 5


class OutOfMemoryError(Error, MemoryError):
    """The system, or a budget, has no memory left. What existed before is as it was."""

    code = 6


class ContextFullError(Error):
    """The prompt does not fit the session's context; nothing was added."""

    code = 7


class CancelledError(Error):
    """The call was ended by ``cancel()``; the context is as it was before."""

    code = 8


class BusyError(Error):
    """Another call is inside this session or sampler."""

    code = 9


class NumericError(Error, ArithmeticError):
    """NaN or infinity where a finite number must be."""

    code = 10


class InternalError(Error, RuntimeError):
    """A bug in Ingle; please report it."""

    code = 11


_CLASSES: dict[int, type[Error]] = {
    c.code: c
    for c in (InvalidArgumentError, NotFoundError, FileError, CorruptError, UnsupportedError, OutOfMemoryError,
              ContextFullError, CancelledError, BusyError, NumericError, InternalError)
}


def make(code: int, where: str, message: str, hint: str) -> Error:
    """The exception of a code; one that a newer library added is a plain :class:`Error`."""
    return _CLASSES.get(code, Error)(where, message, hint, code)
