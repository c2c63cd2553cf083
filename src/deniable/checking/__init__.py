"""Certificates of others: read, and every field recomputed, contradicted, or marked as only stated by the owner."""

from deniable.checking.certificate_check import CertificateCheck as CertificateCheck
from deniable.checking.certificate_check import check_certificate as check_certificate
from deniable.checking.document import FieldCheck as FieldCheck
from deniable.checking.document import parse_certificate as parse_certificate
