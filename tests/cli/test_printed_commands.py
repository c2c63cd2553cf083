"""Commands that other commands print run as they stand."""

import html
import re
import shlex

import pytest

from tests.cli.test_tune import reviews


def find_commands(text):
    """Return the deniable commands in what a command printed, as argument lists."""
    return [shlex.split(command)[1:] for command in re.findall(r"\bdeniable [a-z]+ [^\n]*", text)]


@pytest.mark.parametrize("content", [None, b"short", b"x" * 33])
@pytest.mark.parametrize("name", ["release.key", "my 'own' key"])
def test_a_key_file_that_is_none(privatize, call, place, name, content):
    """Where a key file is missing or no key, the printed command writes one, and never over what is there."""
    if content is not None:
        (place / name).write_bytes(content)
    result = privatize("--key-file", name, "--id", "id")
    assert result.code == 2
    (command,) = find_commands(result.err)
    assert call(*command).code == 0
    assert len((place / command[-1]).read_bytes()) == 32
    assert content is None or (place / name).read_bytes() == content
    assert privatize("--key-file", command[-1], "--id", "id").code == 0


def test_the_first_command_of_the_help(call, place):
    """The command that the help begins with runs in a folder that has such a table."""
    (place / "in.csv").rename(place / "reviews.csv")
    (command,) = find_commands(call("--help").prose)
    end = command.index("--output") + 2
    assert call(*command[:end], "--space", "space.npz").code == 0
    assert (place / command[end - 1]).is_file()


@pytest.mark.parametrize(
    "goal", [("--min-kept", "0.5"), ("--max-recovery", "0.6"), ("--min-accuracy", "0.8", "--label", "class")]
)
def test_commands_of_tune(call, place, goal):
    """Both commands that tune prints run, and write what they name."""
    (place / "in.csv").write_text(reviews())
    result = call("tune", "in.csv", "--space", "space.npz", *goal)
    assert result.code == 0, result.err
    commands = find_commands(result.text)
    assert [command[0] for command in commands] == ["measure", "privatize"]
    for command in commands:
        done = call(*command)
        assert done.code == 0, done.err
        assert (place / command[-1]).is_file()


def test_commands_of_tune_on_a_pipe(call, place):
    """The commands for a table from a pipe read a pipe again, and name what they write after its format."""
    table = reviews().encode()
    goal = ("--max-recovery", "0.60000001")
    result = call("tune", "-", "--format", "csv", "--space", "space.npz", *goal, stdin=table)
    commands = find_commands(result.text)
    assert [(command[0], command[1], command[-1]) for command in commands] == [
        ("measure", "-", "input.measure.html"),
        ("privatize", "-", "input.private.csv"),
    ]
    assert commands[0][commands[0].index("--max-recovery") :][:2] == list(goal)
    for command in commands:
        done = call(*command, stdin=table)
        assert done.code == 0, done.err
        assert (place / command[-1]).is_file()


def test_the_command_line_of_a_report(call, place):
    """The command in a report of measure, run again, makes the same figures."""
    options = [
        "in.csv",
        "--space",
        "space.npz",
        "--epsilons",
        "1,2",
        "--figures",
        "f.json",
        "--output",
        "my report.html",
    ]
    assert call("measure", *options).code == 0
    figures = (place / "f.json").read_bytes()
    page = (place / "my report.html").read_text("utf-8")
    commands = find_commands(html.unescape(re.sub(r"<[^>]*>", "\n", page)))
    command = next(command for command in commands if command[0] == "measure" and "--figures" in command)
    assert call(*command, "--force").code == 0
    drop_seconds = re.compile(rb'"seconds": [^}]*}|"seconds": [0-9.e-]*')
    assert drop_seconds.sub(b"", (place / "f.json").read_bytes()) == drop_seconds.sub(b"", figures)
