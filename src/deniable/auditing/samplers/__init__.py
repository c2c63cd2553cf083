"""Audits of next-token samplers: what is claimed of a token, calls of a law, findings, and the audit."""
