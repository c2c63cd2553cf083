"""``deniable audit callable``: verdicts, exit codes and errors."""

import json

import pytest


def test_a_callable_that_loses_more_than_it_claims(call, mechanisms):
    """A callable of the current folder is refuted on zeros against ones, with exit code 1."""
    result = call("audit", "callable", f"{mechanisms}:lost", "--claim", "1", "--samples", "400", "--seed", "1")
    assert (result.code, result.err) == (1, "")
    first, second, witness, method = result.text.splitlines()
    assert first == f"{mechanisms}:lost, by its outputs alone"
    assert second.startswith("refuted: claimed epsilon 1, true epsilon >= ")
    assert second.endswith(" with 95 % confidence")
    assert "guesses are right; nearest inputs " in witness
    assert "coin-flip game" in method
    assert "400 samples" in method


def test_a_callable_that_keeps_its_claim(call, mechanisms):
    """A correct callable is not refuted, and the verdict says what it would have seen."""
    result = call(
        "audit",
        "callable",
        f"{mechanisms}:kept",
        "--claim",
        "1",
        "--dimension",
        "4",
        "--samples",
        "3000",
        "--seed",
        "1",
    )
    assert (result.code, result.err) == (0, "")
    assert "\nnot refuted: claimed epsilon 1, " in result.text
    assert "\npower: a true epsilon of " in result.text


def test_arrays_are_not_shared(call, mechanisms):
    """A sampler that writes into its input keeps its claim, and one that returns the same array loses it."""
    assert (
        call("audit", "callable", f"{mechanisms}:in_place", "--claim", "1", "--samples", "900", "--seed", "1").code == 0
    )
    assert (
        call("audit", "callable", f"{mechanisms}:same_array", "--claim", "1", "--samples", "100", "--seed", "1").code
        == 1
    )


def test_a_slow_sampler_gets_its_verdict(call, mechanisms):
    """An anytime audit out of time ends with a verdict, not with a complaint about one call."""
    options = ["--claim", "1", "--game", "anytime", "--time-limit", "2.2"]
    assert call("audit", "callable", f"{mechanisms}:slow", *options).code == 0


def test_batched_and_json(call, mechanisms):
    """A batched callable takes many inputs at once; --json prints the verdict's fields."""
    result = call("audit", "callable", f"{mechanisms}:many", "--claim", "1", "--batched", "--samples", "500", "--json")
    assert result.code == 1
    read = json.loads(result.text)
    assert read["mechanism"] == f"{mechanisms}:many"
    assert read["samples"] == 500
    assert read["lower_bound"] > 1
    assert read["witness"]["guesses"] >= read["witness"]["correct_guesses"] > 0


def test_inputs_from_files(call, place, mechanisms):
    """Inputs are the values of two JSON files: texts, or numbers."""
    (place / "x.json").write_text('"rome"')
    (place / "y.json").write_text('"paris"')
    options = ["--inputs", "@x.json", "@y.json", "--claim", "1", "--samples", "200"]
    result = call("audit", "callable", f"{mechanisms}:texts", *options)
    assert result.code == 1
    assert "'rome'" in result.text
    (place / "x.json").write_text("[0, 0]")
    (place / "y.json").write_text("[1, 1]")
    assert call("audit", "callable", f"{mechanisms}:lost", *options).code == 1


def test_texts_inline(call, mechanisms):
    """A text is a text input as it stands, also one that looks like a number."""
    for texts in (("see you monday", "see you friday"), ("0", "1")):
        result = call(
            "audit", "callable", f"{mechanisms}:texts", "--inputs", *texts, "--claim", "1", "--samples", "200"
        )
        assert (result.code, result.err) == (1, "")
        assert all(f"{text!r}" in result.text for text in texts)


def test_a_long_input_keeps_its_quotes_and_the_reason(call, refused, mechanisms):
    """Where input and error are too long to show, both quotes and the end of the error are shown."""
    texts = ["see you monday " + "and then " * 40 + end for end in ("in rome", "in paris")]
    message = refused(call("audit", "callable", f"{mechanisms}:complains", "--inputs", *texts, "--claim", "1"))
    assert "The sampler raised 'ValueError: cannot use see you monday and then " in message
    assert ": texts must be short' for the input 'see you monday " in message
    assert message.rstrip().endswith(("then in rome'.", "then in paris'."))
    shown = call(
        "audit", "callable", f"{mechanisms}:texts", "--inputs", *texts, "--claim", "1", "--samples", "200"
    ).text
    assert "nearest inputs 'see you monday and then " in shown
    assert "then in rome'" in shown


@pytest.mark.parametrize(
    ("mechanism", "options", "message"),
    [
        ("prints", [], "The sampler printed 'a secret"),
        ("hangs", ["--time-limit", "0.5"], "did not end within the 0.5 seconds"),
        ("slow", ["--time-limit", "0.5"], "in 0.5 seconds, fewer than asked for"),
        ("nothing", [], "Got nothing."),
        ("nan", [], "The sampler must return finite numbers. Got nan"),
        ("reshapes", [], "one shape"),
        ("fails", [], r"The sampler raised 'RuntimeError: two\nlines' for the input [0.0]"),
        ("odd", [], "The sampler raised 'Odd: base'"),
        ("leaves", [], "The sampler raised 'SystemExit: 1'"),
        ("later", [], "The sampler is asynchronous"),
        ("stubborn", ["--time-limit", "0.5"], "did not end within the 0.5 seconds"),
        ("constant", [], "has no callable 'constant'"),
        ("absent", [], "has no callable 'absent'"),
        ("lost", ["--claim", "-1"], "The 'claim' parameter of audit must be a float in [0, inf). Got -1.0."),
        ("lost", ["--claim", "nan"], "Got nan."),
        (
            "lost",
            ["--dimension", "0"],
            "Invalid value for '--dimension': it must be greater than or equal to 1. Got 0.",
        ),
        ("lost", ["--samples", "3"], "The 'samples' parameter of audit must be an int from 20 to 100,000,000. Got 3."),
        ("lost", ["--distance", "0"], "The 'distance' parameter of audit must be a float in (0, inf). Got 0.0."),
        ("lost", ["--distance", "none.txt"], "'none.txt' cannot be read"),
        ("lost", ["--confidence", "1"], "The 'confidence' parameter"),
        ("lost", ["--game", "best"], "'best' is not one of auto, coin, pooled, precision, anytime."),
        ("lost", ["--game", "pooled"], "The method 'pooled' does not fit the inputs given"),
        ("texts", ["--inputs", "rome", "rome"], "--inputs takes two different inputs, which an audit tells apart. Got"),
        (
            "texts",
            ["--inputs", "@rome.json", "rome"],
            "--inputs takes two different inputs, which an audit tells apart.",
        ),
        ("lost", ["--inputs", "@one.json", "@one_too.json"], "--inputs takes two different inputs"),
        ("lost", ["--inputs", "@list.json", "@./list.json"], "--inputs takes two different inputs"),
        ("lost", ["--inputs", "@none.json", "@none.json"], "The file 'none.json' cannot be read"),
        ("lost", ["--inputs", "@one.txt", "@other.txt"], "The input 'one.txt' is not JSON"),
        (
            "lost",
            ["--inputs", "one.txt", "other.txt"],
            "The input 'one.txt' is a file here: write @one.txt to read it.",
        ),
    ],
)
def test_what_cannot_be_audited(call, refused, mechanisms, mechanism, options, message):
    """A sampler or an option that cannot be used is one line, exit code 2 and no verdict."""
    message = message.replace("[0.0]", "[")
    claim = [] if "--claim" in options else ["--claim", "1"]
    assert message in refused(call("audit", "callable", f"{mechanisms}:{mechanism}", *claim, *options))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing argument 'PACKAGE.MODULE:CALLABLE'"),
        (["none.such:thing", "--claim", "1"], "No module named 'none'"),
        (["json:loads"], "Missing option '--claim'"),
        (
            ["json:loads", "--claim", "1", "--epsilon", "1"],
            "No such option: --epsilon. The claim of a black box is --claim",
        ),
        (["json:loads", "--claim", "1", "--lines"], "No such option: --lines"),
        (["json:loads", "--claim", "1", "--time-limit", "nan"], "The 'time_limit' parameter"),
        (["json:loads", "--claim", "1", "--samples", "0"], "The 'samples' parameter"),
    ],
)
def test_what_cannot_be_run(call, refused, arguments, message):
    """Wrong options are one line and exit code 2."""
    assert message in refused(call("audit", "callable", *arguments))
