"""Which paths lie on network file systems, and which on file systems that nobody writes to."""

from pathlib import Path

import pytest

from deniable.ledger.mounts import find_network_file_system, is_read_only_file_system

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
    table = tmp_path / "mounts"
    table.write_text(MOUNTS)
    assert find_network_file_system(Path(path), table) == expected


def test_where_nothing_is_known_nothing_is_refused(tmp_path):
    """Elsewhere than on Linux there is no such table."""
    assert find_network_file_system(tmp_path / "ledger.db", tmp_path / "none") is None
    assert not is_read_only_file_system(tmp_path / "ledger.db", tmp_path / "none")


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/var/l.db", False), ("/media/disc/l.db", True), ("/media/disc/over/l.db", False), ("/view/l.db", False)],
)
def test_what_nobody_can_write(tmp_path, path, expected):
    """The options of the file system count, not those of one mount of it."""
    table = tmp_path / "mountinfo"
    table.write_text(
        "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n"
        "40 27 11:0 / /media/disc ro,relatime shared:5 - iso9660 /dev/sr0 ro,norock\n"
        "41 40 0:9 / /media/disc/over rw - tmpfs tmpfs rw,mode=755\n"
        "42 27 254:0 /srv /view ro,relatime - ext4 /dev/vda rw,discard\n"
    )
    assert is_read_only_file_system(Path(path), table) == expected
