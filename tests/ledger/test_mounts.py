"""Which paths lie on network file systems."""

import pytest

from deniable.ledger.mounts import find_network_file_system

MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
server:/share /srv/share nfs4 rw 0 0
/dev/sdb1 /srv/share/local xfs rw 0 0
//host/c /srv/with\\040space cifs rw 0 0
host:/home /home fuse.sshfs rw 0 0
tmpfs /home/me tmpfs rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/var/ledger.db", None),
        ("/srv/share/a/ledger.db", "nfs4"),
        ("/srv/shared/ledger.db", None),
        ("/srv/share/local/ledger.db", None),
        ("/srv/with space/ledger.db", "cifs"),
        ("/home/you/ledger.db", "fuse.sshfs"),
        ("/home/me/ledger.db", None),
    ],
)
def test_the_deepest_mount_counts(tmp_path, path, expected):
    """A path lies on the file system that is mounted deepest above it."""
    from pathlib import Path

    table = tmp_path / "mounts"
    table.write_text(MOUNTS)
    assert find_network_file_system(Path(path), table) == expected


def test_where_nothing_is_known_nothing_is_refused(tmp_path):
    """Elsewhere than on Linux there is no such table."""
    assert find_network_file_system(tmp_path / "ledger.db", tmp_path / "none") is None
