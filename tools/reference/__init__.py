"""The pages of `docs/reference/`, made of the program: ``python -m tools.reference [--check]``."""
