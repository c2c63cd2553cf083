"""What a command has written when it fails: messages say "nothing was written" only where that is true."""

import contextlib
import dataclasses
import errno


@dataclasses.dataclass
class _Outcome:
    """Outputs of the command that runs.

    Attributes:
        written_paths: files that are complete and in their places.
        uses_stdout: whether the table goes to standard output, which may get a part of it.
    """

    written_paths: list[str] = dataclasses.field(default_factory=list)
    uses_stdout: bool = False


_OUTCOME = _Outcome()


def forget_outputs() -> None:
    """Begin a new command."""
    _OUTCOME.written_paths.clear()
    _OUTCOME.uses_stdout = False


def note_stdout() -> None:
    """Remember that the command writes its output to standard output."""
    _OUTCOME.uses_stdout = True


def watch_outputs() -> contextlib.AbstractContextManager[None]:
    """Return a context within which every output is remembered at the moment when it appears."""
    from deniable.core.parts import record_published

    return record_published(_OUTCOME.written_paths)


def describe_remedy(error: OSError) -> str:
    """Return what to do about a failure of a disk, as the end of a message; nothing where that depends on the case."""
    if _OUTCOME.written_paths:
        return ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return " Free some space, and run the same command again."
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return " Choose a folder that can be written."
    if error.errno == errno.EIO:
        return " Check the disk, or choose another folder."
    return " Run the same command again." if error.errno == errno.EINTR else ""


def describe_outputs() -> str:
    """Return what is there after a failure, as the end of a message."""
    if _OUTCOME.written_paths:
        return f"{' and '.join(_OUTCOME.written_paths)} had been written"
    if _OUTCOME.uses_stdout:
        return "no file was written, and standard output may be incomplete"
    return "nothing was written"
