"""Phan et al., DPAL, Figures 2, 4 and 6: MNIST under attack, with the baselines and what replaces them."""

from deniable.studies.adversarial.plan import DPAL, Drops, Gains, Plan, Point, Sizes
from deniable.studies.adversarial.study import made

_BUT_FGSM = ("i-fgsm", "mim", "pgd")
PLAN = Plan(
    name="MNIST",
    file="mnist.npz",
    network="paper-mnist",
    attacked_at=0.2,
    tight=0.2,
    certified_at=1.0,
    figures={"budget": "Figure 2", "size": "Figure 4", "certified": "Figure 6"},
    points=(
        Point("budget", DPAL, 0.2, 82.7),
        Point("budget", DPAL, 2.0, 89.59),
        Point("budget", "securesgd", 0.2, 41.64),
        Point("budget", "securesgd", 2.0, 78.64),
        Point("budget", "securesgd-agm", 0.2, 11.2),
        Point("budget", "securesgd-agm", 2.0, 44.1),
        Point("certified", DPAL, 0.05, 84.29),
        Point("certified", DPAL, 0.6, 72.41),
        Point("certified", "pixeldp", 0.05, 94.19, _BUT_FGSM),
        Point("certified", "pixeldp", 0.6, 9.08, _BUT_FGSM),
        Point("certified", "pixeldp", 0.6, 77.47, ("fgsm",)),
        Point("certified", "securesgd", 0.05, 86.74),
        Point("certified", "securesgd", 0.6, 7.99),
        Point("certified", "securesgd-agm", 0.05, 87.23),
        Point("certified", "securesgd-agm", 0.6, 5.26),
    ),
    gains=(
        Gains("budget", {"securesgd": 22.36, "securesgd-agm": 46.84, "adlm": 56.21, "dp-sgd": 77.26}),
        Gains("size", {"securesgd": 44.91, "securesgd-agm": 61.13, "adlm": 52.21, "dp-sgd": 62.20}),
    ),
    drops=(
        Drops(
            "size", 0.05, 0.6,
            {DPAL: 19.87, "adlm": 27.76, "dp-sgd": 29.79, "securesgd-agm": 34.14, "securesgd": 17.07},
        ),
    ),
)  # fmt: skip
FULL = Sizes()
QUICK = Sizes(
    budgets=(0.2, 1.0),
    attack_sizes=(0.1, 0.4),
    images=100,
    gradient_draws=2,
    votes=16,
    dpal_votes=64,
    pgd_steps=10,
    private_steps=20,
    dpal_steps=24,
    dpal_attack_steps=1,
    adlm_steps=30,
    adlm_batch=600,
    pixeldp_steps=150,
    certified_images=40,
    certified_draws=150,
    proved_draws=300,
)
PAPER = Sizes(
    budgets=(0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0),
    attack_sizes=(0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6),
    images=1_000,
    gradient_draws=8,
    votes=64,
    dpal_votes=512,
    pgd_steps=40,
    private_steps=300,
    dpal_steps=1_200,
    dpal_attack_steps=10,
    dpal_rate=1e-3,
    adlm_steps=1_200,
    pixeldp_steps=4_000,
    certified_images=500,
    choosing=64,
    certified_draws=1_000,
    proved_draws=10_000,
)
"""As in the paper, where it says how much: 40 steps of MadryEtAl, T_mu = 10, and its axes.

Steps of training it does not say; DPAL's rate is above its own, of so few steps.
"""
STUDY = made("dpal-mnist", PLAN, FULL, QUICK, PAPER)
