"""Commands that other commands print."""

from deniable.cli.printed_commands import find_free_path, format_command_line
from tests.commands import build_command_line


def test_options_of_a_file(tmp_path):
    """A command line has the options of a file of options, and a flag only where it is true."""
    for flag, shown in (("true", " --force"), ("false", "")):
        (tmp_path / "run.toml").write_text(f'limit = 60\nforce = {flag}\noutput = "page.html"\n')
        arguments = ["in.csv", "--config", str(tmp_path / "run.toml")]
        context = build_command_line().commands["measure"].make_context("measure", arguments)
        line = format_command_line(context, "measure")
        assert sorted(line.split(" --")) == sorted(
            f"deniable measure in.csv --limit 60{shown} --output page.html".split(" --")
        )


def test_free_paths(tmp_path):
    """A path at which nothing is stays; else a number goes before its endings, or at the end where it has none."""
    for name, numbered in (("a.private.csv", "a-{}.private.csv"), (".key", ".key-{}"), ("key", "key-{}")):
        for free in (name, numbered.format(2), numbered.format(3)):
            assert find_free_path(str(tmp_path / name)) == str(tmp_path / free)
            (tmp_path / free).touch()
