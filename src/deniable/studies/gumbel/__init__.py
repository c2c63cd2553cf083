"""The parts of the study of the truncated Gumbel paper, Figures 1 and 2."""
