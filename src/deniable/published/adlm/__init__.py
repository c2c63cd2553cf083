"""AdLM (Phan et al. 2019): adaptive Laplace noise in the loss of a classifier."""
