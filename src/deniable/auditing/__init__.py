"""Evidence for and against claims of privacy."""

from deniable.auditing.blackbox import audit
from deniable.auditing.exact import verify

__all__ = ["audit", "verify"]
