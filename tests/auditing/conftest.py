"""Fixtures of the tests of audits."""

import numpy as np
import pytest

from deniable.auditing import attacker_selection, bounds


@pytest.fixture
def quick(monkeypatch):
    """Play with the named attackers only, few thresholds, and no detectable epsilon: what is left decides the level."""

    def use(*names):
        monkeypatch.setattr(attacker_selection, "list_suitable_attackers", lambda *_: names)
        monkeypatch.setattr(attacker_selection, "_GUESS_SHARES", np.array([1.0, 0.6, 0.3]))
        for name in ("compute_detectable_epsilon", "compute_anytime_detectable_epsilon"):
            monkeypatch.setattr(bounds, name, lambda *_: 1.0)

    return use
