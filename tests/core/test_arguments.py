"""Calls that do not fit a signature are told in one line how they are written."""

import pickle

import pytest

from deniable.core.arguments import bind_arguments, refuse_wrong_calls
from deniable.core.errors import InputError


@refuse_wrong_calls
def play(piece, tempo="slow", *, volume, pedal=False):
    """Return what was asked for."""
    return piece, tempo, volume, pedal


def test_a_call_that_fits_is_made():
    """Arguments arrive as they were given, by position and by name, and the function keeps its name."""
    assert play("waltz", volume=3) == ("waltz", "slow", 3, False)
    assert play(piece="waltz", volume=3, tempo="fast", pedal=True) == ("waltz", "fast", 3, True)
    assert (play.__name__, play.__doc__) == ("play", "Return what was asked for.")
    assert pickle.loads(pickle.dumps(play)) is play


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: play("waltz", "fast", 3), "play takes volume by name: write play(piece, tempo, volume=3)."),
        (
            lambda: play("waltz", "fast", 3, True),
            "play takes volume and pedal by name: write play(piece, tempo, volume=3, pedal=True).",
        ),
        (lambda: play("waltz"), "play needs volume: write play(piece, volume=...)."),
        (play, "play needs piece and volume: write play(piece, volume=...)."),
        (lambda: play("waltz", loud=3), "play has no parameter 'loud'. Its parameters: piece, tempo, volume, pedal."),
        (lambda: play("waltz", volume=3, piece="x"), "play cannot be called so: multiple values for argument 'piece'."),
        (lambda: play(1, 2, 3, 4, 5), "play cannot be called so: too many positional arguments. Its parameters: piece"),
        (lambda: play("waltz", "fast", "x" * 999), f"play(piece, tempo, volume='{'x' * 97} ... {'x' * 96}')."),
    ],
)
def test_a_call_that_does_not_fit(call, message):
    """What is missing, unknown, given twice or without its name is said in one line, with the call that was meant."""
    with pytest.raises(InputError) as caught:
        call()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_arguments_by_name():
    """Defaults are among them, and options without a parameter of their own stand under their names."""
    import inspect

    def build(first, second=2, **options):
        return first, second, options

    bound = bind_arguments("build", inspect.signature(build), [1], {"colour": "red"})
    assert bound == {"first": 1, "second": 2, "colour": "red"}
