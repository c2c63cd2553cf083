"""Generators of synthetic texts: each sees public texts and what was released with noise, nothing else."""
