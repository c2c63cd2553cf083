"""One comparison of a small table, which many tests read."""

import pytest

from deniable.comparison.comparison import compare_releases
from tests.comparison.toy import PLAN, CopyingMethod, make_inputs, make_setting


@pytest.fixture(scope="session")
def comparison():
    """Return a comparison with every way; its table has names in some texts."""
    inputs = make_inputs()
    places = [text.find("london") for text in inputs.texts]
    spans = [[(place, place + len("london"), "place")] if place >= 0 else [] for place in places]
    return compare_releases(inputs, make_setting(inputs, make_method=CopyingMethod, entities=spans), PLAN)
