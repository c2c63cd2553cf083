"""DPText (Beigi et al. 2019): its sampler does not draw the Laplace law (Habernal 2022)."""
