"""Image classifiers: training, attacks, certificates of robustness."""
