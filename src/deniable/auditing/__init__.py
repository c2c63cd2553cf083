"""Evidence for and against claims of privacy."""

from deniable.auditing.black_box import audit
from deniable.auditing.verification import verify
from deniable.core.evidence import limit_status

__all__ = ["audit", "limit_status", "verify"]
