"""Evidence for and against claims of privacy."""

from deniable.auditing.black_box import audit
from deniable.auditing.verification import verify

__all__ = ["audit", "verify"]
