"""What certificates of image and text models share: tallies of predictions, intervals, accuracies, refutation."""
