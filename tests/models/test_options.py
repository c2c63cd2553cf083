"""The options of models: names of what is registered, and no torch for a command's help."""

import subprocess
import sys
from typing import get_args

import pytest

from deniable.models.images.networks import IMAGE_NETWORKS
from deniable.models.images.options import NetworkName
from deniable.models.text.attacks import TEXT_ATTACKS
from deniable.models.text.networks import TEXT_NETWORKS
from deniable.models.text.options import TextAttackName, TextNetworkName


@pytest.mark.parametrize(
    ("names", "registry"),
    [(NetworkName, IMAGE_NETWORKS), (TextNetworkName, TEXT_NETWORKS), (TextAttackName, TEXT_ATTACKS)],
)
def test_every_entry_of_a_registry_has_its_name(names, registry):
    """A command offers exactly what there is."""
    assert get_args(names) == tuple(registry)


@pytest.mark.parametrize("room", ["images", "text"])
def test_options_need_no_torch(room):
    """A command's help shows options without torch."""
    program = f"import sys, deniable.models.{room}.options as options; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
