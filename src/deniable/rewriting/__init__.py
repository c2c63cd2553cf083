"""Whole texts rewritten under local differential privacy: an auto-encoder, and methods that release through it."""
