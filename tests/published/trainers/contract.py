"""What every trainer of the zoo and its twin hold."""

from types import ModuleType
from typing import ClassVar

import pytest

from deniable.auditing.training.facts import collect_training_facts

SEED = 20_220_524
"""Another than that of the table in the docs."""


class TrainerContract:
    """A trainer is refuted by samples, its twin by nothing, and the claim of both is true of the twin."""

    module: ClassVar[ModuleType]
    ratio: ClassVar[float | None] = None
    """What one record does to the sum of a step, per unit of what is allowed; None where facts measure nothing."""
    mended_ratio: ClassVar[float | None] = 1.0
    runs: ClassVar[int] = 3_000

    def test_samples_refute_the_trainer(self):
        """Fewer runs than those of the zoo refute it."""
        verdict = self.module.CASE.audit_samples(self.module.train, SEED, self.runs)
        assert verdict.status == "refuted" == self.module.ENTRY.sampled_status
        assert verdict.confidence == 0.999

    def test_samples_do_not_refute_the_twin(self):
        """The same runs do not refute the twin."""
        verdict = self.module.CASE.audit_samples(self.module.train_mended, SEED, self.runs)
        assert verdict.status == "not refuted" == self.module.TWIN.sampled_status

    def test_facts(self):
        """Facts say what the entries expect, how far a record moves the sum, and that the plan is what is claimed."""
        for train, entry, ratio in (
            (self.module.train, self.module.ENTRY, self.ratio),
            (self.module.train_mended, self.module.TWIN, self.mended_ratio),
        ):
            facts, movement = self.collect_facts(train), None if ratio is None else pytest.approx(ratio, rel=1e-9)
            assert (facts.movement and facts.movement.ratio) == movement
            found = "refuted" if facts.is_refuted else facts.verdicts["the accounting"].status
            assert entry.exact_status in {None, found}
            assert facts.stated.lower <= self.module.CASE.epsilon <= facts.stated.upper * 1.01
            assert facts.stated.upper <= self.module.CASE.epsilon * (1 + 1e-4)

    def collect_facts(self, train):
        """Return what two runs of a trainer show on the data of its case."""
        case = self.module.CASE
        return collect_training_facts(
            train, case.records, case.canary, case.guarantee, other=case.other, seed=case.facts_seed
        )

    def test_what_the_entries_say(self):
        """The trainer has a flaw and a source, its twin neither, and their claims are the same."""
        entry, twin = self.module.ENTRY, self.module.TWIN
        assert entry.flaw
        assert entry.source
        assert twin.flaw == ""
        assert twin.source == f"control: {entry.name} mended"
        assert twin.name == f"{entry.name}-mended"
        assert entry.claim == twin.claim
