"""Xu et al. 2021, Tables 2 and 3, IMDB: certified and augmented training of a CNN, attacked by word mechanisms."""

from deniable.studies.substituted.plan import GUMBEL, LAPLACE, Claim, Plan, Published, Sizes
from deniable.studies.substituted.study import made

GUMBEL_LOGS = (4.67, 10.0, 14.0, 17.0, 23.0, 38.0, 50.0, 62.0, 74.0, 86.0)
LAPLACE_EPSILONS = (1.0, 5.0, 9.0, 20.0, 40.0, 60.0, 80.0, 100.0, 150.0, 200.0)
_ANY = 0.0
GUMBEL_CLAIMS = (
    Claim(GUMBEL, "clean", _ANY, only=False, quote="augmented training outperforms IBP in clean accuracy almost "
          "for any tested epsilon (Section 6.6)."),
    Claim(GUMBEL, "genetic", _ANY, only=False, quote="augmented training outperforms IBP in adversarial accuracy "
          "almost for any tested epsilon (Section 6.6)."),
)  # fmt: skip
"""What the paper says of both data sets."""
PLAN = Plan(
    name="IMDB",
    network="cnn",
    train="imdb_train.parquet",
    test="imdb_test.parquet",
    text="text",
    premise=None,
    normal=89.50,
    certified_training=81.00,
    tested=1_000,
    words=48_210,
    separation=0.2208,
    tables=(
        Published(
            "Table 2", GUMBEL, GUMBEL_LOGS,
            clean=(89.80, 89.60, 88.10, 90.00, 88.30, 89.20, 89.00, 89.40, 89.80, 89.70),
            certified_training=(35.30, 34.60, 47.40, 58.60, 70.90, 79.90, 80.80, 80.90, 80.90, 81.00),
            augmented=(32.00, 34.90, 43.30, 60.20, 71.80, 86.20, 88.80, 89.30, 89.70, 89.70),
        ),
        Published(
            "Table 3", LAPLACE, LAPLACE_EPSILONS,
            clean=(88.22, 88.20, 87.34, 87.38, 88.60, 88.74, 88.12, 88.46, 88.00, 87.76),
            certified_training=(0.30, 0.50, 1.20, 4.90, 38.60, 68.30, 78.50, 80.30, 80.90, 81.00),
            augmented=(10.80, 8.50, 10.20, 6.90, 9.50, 17.70, 32.10, 53.00, 80.50, 88.30),
        ),
    ),
    claims=(
        *GUMBEL_CLAIMS,
        Claim(LAPLACE, "clean", _ANY, only=False, quote="clean accuracy of augmented training is about 8.74 % higher "
              "than that of IBP for any epsilon (Section 6.6)."),
        Claim(LAPLACE, "genetic", 150.0, only=True, quote="augmented training outperforms IBP under attack only when "
              "epsilon > 150 (Section 6.6)."),
    ),
)  # fmt: skip
FULL = Sizes()
QUICK = Sizes(
    gumbel_logs=(10.0, 38.0),
    laplace=(20.0, 100.0),
    calibrated=(1.5,),
    tight=(),
    words=8_000,
    train=2_000,
    test=100,
    normal_epochs=5,
    ibp_epochs=15,
    augmented_epochs=2,
    population=20,
    generations=10,
    pool=16,
    smoothed=20,
    estimation=500,
)
PAPER = Sizes(
    gumbel_logs=GUMBEL_LOGS,
    laplace=LAPLACE_EPSILONS,
    calibrated=(1.0, 1.25, 1.5, 2.0, 3.0),
    tight=(1.25, 1.5, 2.0),
    pool=64,
    smoothed=500,
    estimation=10_000,
)
"""As in the paper: all of its epsilons, 20,000 texts and 1,000 attacked."""
STUDY = made("robust-imdb", PLAN, FULL, QUICK, PAPER)
