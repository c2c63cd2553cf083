"""What lies in a cache folder, for tests that look at it or change it."""

import hashlib

CODE = 32
"""Bytes of the digest before a cached content."""


def entries(folder):
    """Return the cached files."""
    return sorted(folder.iterdir())


def content(path):
    """Return what a cached file holds behind its digest."""
    return path.read_bytes()[CODE:]


def authentic(path, data):
    """Return data with the digest under which it is believed in that file."""
    return hashlib.blake2b(path.name.encode() + b"\0" + data, digest_size=CODE).digest() + data
