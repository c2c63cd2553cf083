"""Public causal language models, read from files and never fetched: laws, tilted or not, and texts drawn from them.

Requires the ``lm`` extra. No model is part of this package.
"""
