"""Claims of published packages and of textbook code that are false, one file each: claim, flaw and evidence.

- ``laplace_in_ball``: multivariate Laplace noise with its direction drawn in the ball instead of on the sphere.
- ``numpy_laplace``: input plus noise in floating point, whose last bits reveal the input.
- ``public_seed``: noise from the same public seed in every run.
- ``own_output_sets``: outputs restricted to the input's own nearest neighbours.
- ``tem_wrong_bottom``, ``tem_input_for_bottom``: TEM with another law for distant words.
- ``unknown_unchanged``: words outside the vocabulary are released as they are.
"""
