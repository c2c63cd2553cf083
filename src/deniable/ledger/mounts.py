"""On which file system a path lies, as Linux knows it."""

import re
from collections.abc import Iterator
from pathlib import Path

_NETWORK_TYPES = re.compile(
    r"nfs\d?|cifs|smb\d?|smbfs|ncpfs|9p|virtiofs|afs|ceph|glusterfs|lustre|gpfs|beegfs|ocfs2|gfs2|"
    r"fuse\.(sshfs|glusterfs|ceph.*|s3fs|rclone|gcsfuse|blobfuse2?|davfs2?|smbnetfs|juicefs)|davfs"
)
_MOUNTS, _MOUNT_INFORMATION = Path("/proc/self/mounts"), Path("/proc/self/mountinfo")
_OCTAL = re.compile(r"\\([0-7]{3})")


def find_network_file_system(path: Path, mounts: Path = _MOUNTS) -> str | None:
    """Return the type of the network file system that a path lies on; None for a local one, or where nothing is known.

    Args:
        path: of a file, which need not exist.
        mounts: table of mounts, as Linux writes it; None is known where it is missing.
    """
    kind = _find_deepest(path, ((fields[1], fields[2]) for fields in _read_fields(mounts)))
    return kind if kind is not None and _NETWORK_TYPES.fullmatch(kind) else None


def is_read_only_file_system(path: Path, mounts: Path = _MOUNT_INFORMATION) -> bool:
    """Return whether nobody can write to the file system that a path lies on; False where nothing is known.

    A mount that is read only may show a file system to which others write through another mount: what counts are the
    options of the file system itself.

    Args:
        path: of a file, which need not exist.
        mounts: information of mounts, as Linux writes it.
    """
    options = _find_deepest(path, ((fields[4], fields[-1]) for fields in _read_fields(mounts)))
    return options is not None and "ro" in options.split(",")


def _read_fields(table: Path) -> Iterator[list[str]]:
    """Yield the fields of each line of a table of mounts; nothing where it cannot be read."""
    try:
        lines = table.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return
    yield from (line.split(" ") for line in lines)


def _find_deepest(path: Path, mounts: Iterator[tuple[str, str]]) -> str | None:
    """Return what is known of the mount that a path lies on, of pairs of a folder and what is known; None for none."""
    resolved, found, depth = path.resolve(), None, -1
    for folder, known in mounts:
        mount_point = Path(_OCTAL.sub(lambda match: chr(int(match[1], 8)), folder))
        # A later mount at one place hides an earlier one.
        if resolved.is_relative_to(mount_point) and len(mount_point.parts) >= depth:
            found, depth = known, len(mount_point.parts)
    return found
