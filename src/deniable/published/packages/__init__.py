"""Flaws of published packages for private text."""
