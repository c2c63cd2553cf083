"""The epsilon at which an attacker's success, the share of kept words or the utility is as wanted."""

from deniable.measure.tuning import TuningResult, tune_kept, tune_recovery, tune_utility

__all__ = ["TuningResult", "tune_kept", "tune_recovery", "tune_utility"]
