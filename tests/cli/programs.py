"""The installed program, for tests that run it as a process."""

import sys
from pathlib import Path

PROGRAM = str(Path(sys.executable).with_name("deniable"))
