"""Write the catalogue anew from what the commands say now: ``python -m tests.catalogue``; then read the difference."""

import os
import sys

import pytest

os.environ["DENIABLE_WRITE_CATALOGUE"] = "1"
sys.exit(pytest.main(["-q", "-n", "0", "tests/catalogue"]))
