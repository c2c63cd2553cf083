"""Certificates that a classifier of texts inherits from the guarantee of a word mechanism."""
