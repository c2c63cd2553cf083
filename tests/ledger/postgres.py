"""A real PostgreSQL of the tests' own, on a socket in a folder of its own."""

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

_USERS = ("postgres", "nobody")
"""Whom the server runs as where the tests run as root, which it refuses."""


def _find_programs():
    """Return the folder of initdb and pg_ctl."""
    folders = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True), *map(Path, os.get_exec_path())]
    return next((folder for folder in folders if (folder / "initdb").is_file() and (folder / "pg_ctl").is_file()), None)


def _find_user():
    for name in _USERS:
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    pytest.skip("PostgreSQL does not run as root, and there is no other user here")


@contextlib.contextmanager
def run_postgres():
    """Yield the address of an empty database; skip the test, with the reason, where there is no PostgreSQL."""
    pytest.importorskip("psycopg", reason="psycopg is missing: pip install 'psycopg[binary]'")
    programs = _find_programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="deniable-postgres-"))
    owner = _find_user() if os.geteuid() == 0 else None
    options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "cwd": folder, "timeout": 120}
    if owner is not None:
        os.chown(folder, owner.pw_uid, owner.pw_gid)
        options |= {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
    data = folder / "data"
    settings = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c max_connections=50"
    try:
        subprocess.run(
            [programs / "initdb", "-D", data, "-A", "trust", "-U", "owner", "--no-sync"], check=True, **options
        )
        log = folder / "log"
        subprocess.run(
            [programs / "pg_ctl", "-D", data, "-w", "-l", log, "-o", settings, "start"], check=True, **options
        )
        try:
            yield f"postgresql://owner@/postgres?host={folder}"
        finally:
            subprocess.run([programs / "pg_ctl", "-D", data, "-m", "immediate", "stop"], check=True, **options)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def make_database(address, name):
    """Return the address of a new, empty database of a server."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return address.replace("/postgres?", f"/{name}?")
