"""The parts of the two studies of text classifiers under substituted words: training, attacks, picture and words."""
