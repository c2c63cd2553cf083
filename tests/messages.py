"""What a command says on standard error, apart from its progress."""

import re

_PROGRESS = re.compile(r"[a-z][^:\n]*: [^\n]*(so far|% of it|left|read)\n")


def select_messages(stderr):
    """Return standard error without lines of progress, of which there are as many as the machine is slow."""
    return _PROGRESS.sub("", stderr)
