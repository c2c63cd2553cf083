"""Sizes so small that a study takes a second or two."""

import dataclasses

from deniable.studies import adept_sensitivity, dpal_audit, frontier, gumbel_deniability, sanity_check, tem_utility
from deniable.studies.adversarial.plan import Sizes
from deniable.studies.representation.plan import Sizes as RepresentationSizes
from deniable.studies.rewriting.plan import Sizes as RewritingSizes
from deniable.studies.substituted.plan import Sizes as TextSizes

SENSITIVITY = adept_sensitivity.Sizes(vectors=60, dimensions=(2, 8, 32), radii=(0.1, 1.0, 10.0), searched=(2, 4))
CHECK = sanity_check.Sizes(
    dimensions=(1, 2),
    epsilons=(1.0,),
    repeats=5_000,
    coordinates=8_000,
    audit_samples=300,
    audit_most=300,
    accused_repeats=(1_000, 10_000),
    repetitions=300,
    audits=2,
    audits_samples=60,
)
UTILITY = tem_utility.Sizes(
    epsilons=(2.0, 4.0), trials=2, reviews=20, outsiders=8, laplace_copies=1, words=None, dimensions=4, epochs=2
)
FRONTIER = frontier.Sizes(
    grid=(
        ("calibrated", (2.0, 4.0)),
        ("tight", (2.0,)),
        ("tem", (2.0, 6.0)),
        ("multivariate-laplace", (6.0, 14.0)),
        ("truncated-gumbel", (200.0,)),
    ),
    trials=2,
    reviews=20,
    words=120,
    dimensions=4,
    epochs=2,
)
DENIABILITY = gumbel_deniability.Sizes(
    words=8,
    runs=60,
    laplace=(1.0, 4.0, 40.0),
    gumbel_logs=(-3.0, 12.0),
    tem=(1.0, 8.0),
    calibrated=(1.0, 5.0),
    tight=(4.0,),
)
DPAL = dpal_audit.Sizes(
    batch=200, neurons=64, dense=16, differences=1_000, recoveries=10, steps=10, train=300, epochs=20
)
MNIST = Sizes(
    budgets=(0.2, 1.0),
    attack_sizes=(0.1, 0.6),
    images=12,
    gradient_draws=1,
    votes=2,
    dpal_votes=3,
    pgd_steps=2,
    private_steps=2,
    private_batch=300,  # all of them, for which accounting takes no time
    dpal_steps=2,
    dpal_attack_steps=1,
    dpal_batch=40,
    adlm_steps=2,
    adlm_batch=10,
    pixeldp_steps=2,
    width=0.25,
    certified_images=4,
    choosing=5,
    certified_draws=20,
    proved_draws=20,
)
CIFAR10 = dataclasses.replace(
    MNIST, budgets=(2.0,), attack_sizes=(0.05, 0.5), width=0.125, train=120, private_batch=120
)
IMDB = TextSizes(
    gumbel_logs=(1.0, 10.0),  # the first lies below the least epsilon
    laplace=(1.0, 200.0),
    calibrated=(2.0,),
    tight=(),
    train=40,
    test=12,
    normal_epochs=3,
    ibp_epochs=3,
    augmented_epochs=1,
    copies=1,
    population=4,
    generations=2,
    pool=4,
    smoothed=3,
    selection=10,
    estimation=50,
    every=1,
)
NLI = dataclasses.replace(IMDB, laplace=(1.0,), gumbel_logs=(10.0,))
ATIS = RewritingSizes(
    epsilons=(1.0, 1000.0),
    latent=8,
    hidden=16,
    embedding=8,
    epochs=2,
    spliced=0,
    latents=(4,),
    short=1,
    train=60,
    test=30,
    most=4,
    releases=300,
    beyond=100,
    rewritten=30,
    proposals=40,
    inverted=(1000.0,),
    inverting=1,
    searched=10,
    tuned=(1000.0,),
    tuning=1,
    samples=300,
    every=2,
)
DPTEXT = RepresentationSizes(
    epsilons=(1.0,),
    cities=2,
    intents=1,
    train=90,
    known=70,
    test=60,
    dimensions=4,
    hidden=8,
    epochs=2,
    trees=5,
    chosen=20,
    identified=20,
    audit_samples=200,
    draws=10_000,
)
TINY = {
    "adept-sensitivity": SENSITIVITY,
    "sanity-check": CHECK,
    "tem-utility": UTILITY,
    "frontier": FRONTIER,
    "gumbel-deniability": DENIABILITY,
    "dpal-audit": DPAL,
    "dpal-mnist": MNIST,
    "dpal-cifar10": CIFAR10,
    "robust-imdb": IMDB,
    "robust-nli": NLI,
    "adept-atis": ATIS,
    "dptext": DPTEXT,
}
"""Study -> sizes."""
TINIER = {
    "adept-sensitivity": dataclasses.replace(SENSITIVITY, dimensions=(32,)),
    "sanity-check": dataclasses.replace(CHECK, dimensions=(2,)),
    "tem-utility": dataclasses.replace(UTILITY, epsilons=(2.0,), trials=1),
    "frontier": dataclasses.replace(FRONTIER, grid=(("tem", (2.0, 6.0)),), trials=1),
    "gumbel-deniability": dataclasses.replace(DENIABILITY, words=4, runs=20),
    "dpal-audit": dataclasses.replace(DPAL, differences=500, epochs=2),
    "dpal-mnist": dataclasses.replace(MNIST, attack_sizes=(0.2,), images=6),
    "dpal-cifar10": dataclasses.replace(CIFAR10, attack_sizes=(0.2,), images=6),
    "robust-imdb": dataclasses.replace(IMDB, laplace=()),
    "robust-nli": dataclasses.replace(NLI, laplace=()),
    "adept-atis": dataclasses.replace(ATIS, epsilons=(1.0,), methods=("adept", "adept-gaussian", "tokens")),
    "dptext": dataclasses.replace(DPTEXT, trees=3),
}
"""Study -> sizes smaller still."""
