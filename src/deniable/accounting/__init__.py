"""Accounting: records say what was done, functions count what it spends.

- `gaussian`: noise on sums, exactly;
- `renyi`: divergences of many small losses, composed;
- `training`: `TrainingPlan`, what DP-SGD does, and its epsilon by each scheme of sampling;
- `planning`: the plan that spends at most a budget, and the verdict on it.
"""
