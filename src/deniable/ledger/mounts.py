"""Whether a path lies on a network file system, as Linux knows it."""

import re
from pathlib import Path

_NETWORK_TYPES = re.compile(
    r"nfs\d?|cifs|smb\d?|smbfs|ncpfs|9p|virtiofs|afs|ceph|glusterfs|lustre|gpfs|beegfs|ocfs2|gfs2|"
    r"fuse\.(sshfs|glusterfs|ceph.*|s3fs|rclone|gcsfuse|blobfuse2?|davfs2?|smbnetfs|juicefs)|davfs"
)
_MOUNTS = Path("/proc/self/mounts")
_OCTAL = re.compile(r"\\([0-7]{3})")


def find_network_file_system(path: Path, mounts: Path = _MOUNTS) -> str | None:
    """Return the type of the network file system that a path lies on; None for a local one, or where nothing is known.

    Args:
        path: of a file, which need not exist.
        mounts: table of mounts, as Linux writes it; None is known where it is missing.
    """
    try:
        lines = mounts.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return None
    resolved, found, depth = path.resolve(), None, -1
    for line in lines:
        _, folder, kind, *_ = line.split(" ")
        mount_point = Path(_OCTAL.sub(lambda match: chr(int(match[1], 8)), folder))
        # A later mount at one place hides an earlier one.
        if resolved.is_relative_to(mount_point) and len(mount_point.parts) >= depth:
            found, depth = kind, len(mount_point.parts)
    return found if found is not None and _NETWORK_TYPES.fullmatch(found) else None
