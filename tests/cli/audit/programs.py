"""Command lines of small programs that are audited."""

import shlex
import sys


def program(*arguments):
    """Return a command line that runs this Python."""
    return shlex.join([sys.executable, *arguments])
