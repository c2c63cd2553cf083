"""What image and text models share: tallies, intervals, refutation."""
