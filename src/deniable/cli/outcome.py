"""What a command has written when it fails: messages say "nothing was written" only where that is true."""

import dataclasses


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


def note_written(*paths: object) -> None:
    """Remember that outputs of the command are complete and in their places."""
    _OUTCOME.written_paths.extend(map(str, paths))


def describe_outputs() -> str:
    """Return what is there after a failure, as the end of a message."""
    if _OUTCOME.written_paths:
        return f"{' and '.join(_OUTCOME.written_paths)} had been written"
    if _OUTCOME.uses_stdout:
        return "no file was written, and standard output may be incomplete"
    return "nothing was written"
