"""Evidence for and against claims of privacy."""

from deniable.auditing.blackbox import audit
from deniable.auditing.exact import verify
from deniable.auditing.standing import limit_status

__all__ = ["audit", "limit_status", "verify"]
