"""Training: private (DP-SGD) and not, step by step, so that an interrupted run goes on where it stopped."""
