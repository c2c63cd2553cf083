"""Phan et al., DPAL, Figures 3, 5 and 7: CIFAR-10 under attack, with the baselines and what replaces them.

The data set is a copy of CIFAR-10 that went through JPEG at quality 75, cropped to the central 28 x 28 pixels.
"""

from deniable.studies.adversarial.plan import DPAL, Drops, Gains, Plan, Point, Sizes
from deniable.studies.adversarial.study import made

PLAN = Plan(
    name="CIFAR-10 (JPEG)",
    file="cifar10_jpeg_q75.tar.xz",
    network="paper-cifar10",
    attacked_at=0.2,
    tight=2.0,
    certified_at=2.0,
    figures={"budget": "Figure 3", "size": "Figure 5", "certified": "Figure 7"},
    points=(Point("budget", DPAL, 2.0, 42.02), Point("budget", DPAL, 10.0, 46.76)),
    gains=(
        Gains("budget", {"securesgd": 10.42, "securesgd-agm": 14.08, "adlm": 29.22, "dp-sgd": 14.62}),
        Gains("certified", {"securesgd": 21.01}),
    ),
    drops=(Drops("size", 0.05, 0.5, {DPAL: 4.79, "securesgd": 25.26}),),
    level=44.22,
)
FULL = Sizes(
    budgets=(2.0, 4.0, 10.0),
    attack_sizes=(0.05, 0.1, 0.2, 0.3, 0.5),
    views=1,
    dpal_steps=80,
    dpal_batch=1_851,
    adlm_steps=100,
    adlm_batch=1_851,
    width=0.25,
)
QUICK = Sizes(
    budgets=(2.0, 10.0),
    attack_sizes=(0.05, 0.2),
    train=10_000,
    images=100,
    gradient_draws=2,
    votes=16,
    dpal_votes=64,
    pgd_steps=10,
    private_steps=15,
    private_batch=1_024,
    views=1,
    dpal_steps=20,
    dpal_attack_steps=1,
    dpal_batch=1_851,
    adlm_steps=20,
    adlm_batch=400,
    pixeldp_steps=100,
    width=0.25,
    certified_images=40,
    certified_draws=150,
    proved_draws=300,
)
PAPER = Sizes(
    budgets=(2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0),
    attack_sizes=(0.05, 0.1, 0.2, 0.3, 0.4, 0.5),
    images=1_000,
    gradient_draws=8,
    votes=64,
    dpal_votes=512,
    pgd_steps=40,
    private_steps=500,
    dpal_steps=1_600,
    dpal_attack_steps=3,
    dpal_batch=1_851,
    dpal_rate=1e-3,
    adlm_steps=1_600,
    adlm_batch=1_851,
    pixeldp_steps=6_000,
    certified_images=500,
    choosing=64,
    certified_draws=1_000,
    proved_draws=10_000,
)
"""As in the paper, where it says how much: 40 steps of MadryEtAl, T_mu = 3, the whole network, and its axes.

Steps of training it does not say; DPAL's rate is above its own, of so few steps.
"""
STUDY = made("dpal-cifar10", PLAN, FULL, QUICK, PAPER)
