"""What lies in a cache folder, for tests that look at it or change it."""

import hashlib

SECRET_FILE = "secret"
"""Name of the file that holds the secret of a cache folder."""
CODE = 32
"""Bytes of the code before a cached content."""


def entries(folder):
    """Return the cached files, without the secret."""
    return sorted(path for path in folder.iterdir() if path.name != SECRET_FILE)


def content(path):
    """Return what a cached file holds behind its code."""
    return path.read_bytes()[CODE:]


def authentic(path, data):
    """Return data with the code under which it is believed in that file."""
    secret = (path.parent / SECRET_FILE).read_bytes()
    return hashlib.blake2b(path.name.encode() + b"\0" + data, key=secret, digest_size=CODE).digest() + data
