"""Evidence for and against claims of privacy."""

from deniable.audit.exact import verify

__all__ = ["verify"]
