"""Audits of next-token samplers."""
