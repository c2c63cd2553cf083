"""Commands that other commands print."""

from deniable.cli.printed_commands import find_free_path


def test_free_paths(tmp_path):
    """A path at which nothing is stays; else a number goes before its endings, or at the end where it has none."""
    for name, numbered in (("a.private.csv", "a-{}.private.csv"), (".key", ".key-{}"), ("key", "key-{}")):
        for free in (name, numbered.format(2), numbered.format(3)):
            assert find_free_path(str(tmp_path / name)) == str(tmp_path / free)
            (tmp_path / free).touch()
