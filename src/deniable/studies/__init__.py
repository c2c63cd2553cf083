"""Studies that are no declarations in the folder ``studies`` yet, by name; what is declared there is gone from here."""

from typing import Any

from deniable.studies import robust_imdb, robust_nli
from deniable.studies.report import Report, conduct, unfinished
from deniable.studies.study import Comparison, Result, Setting, Study

STUDIES: dict[str, Study[Any]] = {study.name: study for study in (robust_imdb.STUDY, robust_nli.STUDY)}
"""The registry."""

__all__ = ["STUDIES", "Comparison", "Report", "Result", "Setting", "Study", "conduct", "unfinished"]
