"""Studies: published figures run again, by name."""

from typing import Any

from deniable.studies import (
    adept_atis,
    adept_sensitivity,
    dpal_audit,
    dpal_cifar10,
    dpal_mnist,
    dptext,
    frontier,
    gumbel_deniability,
    robust_imdb,
    robust_nli,
    sanity_check,
    tem_utility,
)
from deniable.studies.report import Report, conduct, unfinished
from deniable.studies.study import Comparison, Result, Setting, Study

STUDIES: dict[str, Study[Any]] = {
    study.name: study
    for study in (
        adept_sensitivity.STUDY,
        sanity_check.STUDY,
        tem_utility.STUDY,
        frontier.STUDY,
        gumbel_deniability.STUDY,
        dpal_audit.STUDY,
        dpal_mnist.STUDY,
        dpal_cifar10.STUDY,
        robust_imdb.STUDY,
        robust_nli.STUDY,
        adept_atis.STUDY,
        dptext.STUDY,
    )
}
"""The registry: a new study is one new file and one more entry here."""

__all__ = ["STUDIES", "Comparison", "Report", "Result", "Setting", "Study", "conduct", "unfinished"]
