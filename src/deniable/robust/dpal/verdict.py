"""What is known of DPAL's claim, whatever it was trained on."""

import math

from deniable.robust.dpal.noise import DPALBudget
from deniable.verdict import Verdict, Witness


def build_refuted_verdict(budget: DPALBudget) -> Verdict:
    """Return the verdict on Theorem 4, which rests on Lemma 3.

    One noise vector is added to all images of all batches. So the difference of two perturbed images is that of the
    originals, with probability 1, and a data set in which one of the two is another image never gives it: the loss
    of what Lemma 3 calls (eps1/gamma_x)-private is infinite. `deniable.robust.audits` has this and more as
    experiments, from the trained parameters alone too.
    """
    witness = Witness(
        input="a batch with images i and j",
        other="the same batch with another image in place of i",
        output="x-bar_i - x-bar_j equals x_i - x_j",
        distance=1.0,
        loss=math.inf,
    )
    return Verdict(
        status="refuted",
        claim=budget.eps_t,
        epsilon=math.inf,
        lower_bound=math.inf,
        confidence=1.0,
        samples=0,
        witness=witness,
        method=f"by law of the perturbed images, of which {budget.input_claim:.3g} is claimed (Lemma 3); "
        "see deniable study dpal-audit",
        seconds=0.0,
    )
