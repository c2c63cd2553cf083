"""Audits of black boxes: what they say, whatever comes out of a mechanism, and what they refuse."""

import decimal
import enum
import json
import math
import time

import numpy as np
import pandas as pd
import pytest
from scipy import special

import deniable as dn
from tests.refusals import refuses

deep = pytest.mark.deep
UNIT = dn.Box(0.0, 1.0)
ENDS = {"x": np.zeros(1), "x_prime": np.ones(1)}


def stream(number):
    """Return randomness for a mechanism, apart from the coins of an audit with the same number."""
    return np.random.default_rng([2021, number])


def grid_laplace(epsilon, number):
    """Return a batched sampler of numpy's Laplace noise, its bits cut off."""
    random = stream(number)
    return lambda x: np.round(x + random.laplace(scale=1 / epsilon, size=np.shape(x)), 6)


def last_bits(scale, number):
    """Return a batched sampler of numpy's Laplace noise as it is, for one number."""
    random = stream(number)
    return lambda x: x + random.laplace(scale=scale, size=x.shape)


def test_as_users_call_it():
    """With every attacker and the default number of samples, a correct mechanism passes and half its claim fails."""
    mechanism = dn.Laplace(epsilon=1.0, domain=UNIT, seed=1)
    verdict = dn.audit(mechanism, np.zeros(8), np.ones(8), claim=1.0, seed=1, confidence=0.999)
    assert verdict.status == "not refuted"
    assert verdict.samples == 10_000
    assert 0.1 < verdict.lower_bound < 1 < verdict.detectable_epsilon < 3
    assert (
        dn.audit(mechanism, np.zeros(8), np.ones(8), claim=0.2, samples=5_000, seed=1, batched=True).status == "refuted"
    )


def test_the_last_bits_of_numpys_laplace():
    """numpy's Laplace noise shows its input at once, by last bits alone or by all attackers, and ours does not."""
    options = ENDS | {"claim": 1.0, "batched": True, "seed": 0}
    for method in ("precision", "auto"):
        verdict = dn.audit(last_bits(1.0, 0), samples=4_000, method=method, **options)
        assert verdict.status == "refuted"
        assert verdict.lower_bound > 2
        assert "float-precision" in verdict.witness.output
        ours = dn.audit(dn.Laplace(epsilon=1.0, domain=UNIT, seed=1).sample, samples=4_000, method=method, **options)
        assert ours.lower_bound < 1.1
    assert dn.audit(last_bits(1.0, 0), samples=5_000, method="coin", **options).lower_bound < 1.1


def test_candidates_see_what_two_inputs_cannot():
    """At a large epsilon d a coin saturates; identification among many goes on."""
    samples, copy = 300, lambda x: x
    two = dn.audit(copy, 0, 1, claim=5.0, samples=samples, batched=True, seed=0)
    many = dn.audit(copy, candidates=list(range(40)), claim=5.0, samples=samples, batched=True, seed=0)
    assert two.status == "not refuted"
    assert math.isinf(two.detectable_epsilon)
    assert many.status == "refuted"


def test_an_anytime_audit_stops_early():
    """It uses few samples where the violation is large and all where there is none, and says how it ended."""
    large = dn.audit(grid_laplace(8.0, 0), 0.0, 1.0, claim=1.0, batched=True, seed=0, method="anytime")
    assert large.status == "refuted"
    assert large.samples <= 128
    none = dn.audit(grid_laplace(1.0, 0), 0.0, 1.0, claim=1.0, samples=500, batched=True, seed=0, method="anytime")
    assert none.status == "not refuted"
    assert none.samples == 500


@pytest.mark.parametrize(
    ("method", "samples", "scale", "status"),
    [
        ("auto", 8_000, 1.0, "not refuted"),
        pytest.param("auto", 20_000, 0.25, "refuted", marks=deep),
    ],
)
def test_a_refutation_by_last_bits_says_what_rounded_outputs_show(method, samples, scale, status):
    """Beside the float-precision event stands the verdict on rounded outputs: right of right noise, wrong of less."""
    options = {"claim": 1.0, "samples": samples, "method": method, "batched": True, "seed": 0}
    verdict = dn.audit(last_bits(scale, 0), **ENDS, **options)
    assert verdict.status == "refuted"
    rounded = verdict.rounded_verdict
    assert rounded.status == status
    assert 0.5 / scale < rounded.lower_bound <= 1 / scale < verdict.lower_bound
    assert rounded.samples == samples
    assert rounded.rounded_verdict is None
    assert "precision" not in rounded.method
    assert "with rounded outputs:" in str(verdict).splitlines()
    held = json.loads(json.dumps(verdict.to_dict(), allow_nan=False))
    assert held["rounded_verdict"]["status"] == status


@deep
@pytest.mark.parametrize("method", ["auto", "anytime"])
def test_no_rounded_outputs_where_values_decide(method):
    """A verdict by values, for or against, has none beside it; nor has one of last bits that the user asked for."""
    options = ENDS | {"claim": 1.0, "samples": 2_000, "batched": True, "seed": 0}
    for scale in (1.0, 0.1):
        sampler = dn.Laplace(epsilon=1 / scale, domain=UNIT, seed=1).sample
        assert dn.audit(sampler, method=method, **options).rounded_verdict is None
    assert dn.audit(last_bits(1.0, 0), method="precision", **options).rounded_verdict is None


def respond(x):
    """Answer truly with the odds of epsilon 3."""
    random = stream(0)
    return np.where(random.random(len(x)) < special.expit(3.0), x, 1 - np.asarray(x))


def test_the_fields_of_a_verdict():
    """Witness, counts, distance and power fit each other, and the bound is Clopper and Pearson's of the counts."""
    verdict = dn.audit(respond, 0, 1, claim=0.5, distance=2.0, samples=900, batched=True, seed=0)
    witness = verdict.witness
    assert (verdict.status, verdict.samples, verdict.claim) == ("refuted", 900, 0.5)
    assert verdict.confidence == pytest.approx(0.95)
    assert math.isinf(verdict.epsilon)
    assert 0 < witness.correct_guesses <= witness.guesses <= 600
    assert {witness.input, witness.other} == {"0", "1"}
    assert witness.distance == 2.0
    least = special.betaincinv(witness.correct_guesses, witness.guesses - witness.correct_guesses + 1, 0.05)
    assert verdict.lower_bound == pytest.approx(special.logit(least) / 2, rel=1e-9)
    assert witness.loss == pytest.approx(2 * verdict.lower_bound)
    assert 0.5 < verdict.detectable_epsilon < 1
    assert verdict.guarantee == dn.Guarantee(
        0.5,
        "the claim under audit",
        "claimed",
        metric="distance of the audit",
        unit="record",
        adjacency="the inputs of the audit",
    )


def test_every_verdict_is_json():
    """Infinities and all, a verdict prints and dumps."""
    for method, samples, claim in (("auto", 20, 0.0), ("auto", 60, 1e6), ("anytime", 60, 1.0)):
        verdict = dn.audit(grid_laplace(1.0, 0), 0.0, 1.0, claim=claim, samples=samples, method=method, batched=True)
        held = json.loads(json.dumps(verdict.to_dict(), allow_nan=False))
        assert held["status"] == verdict.status
        assert str(verdict)


def test_a_seed_repeats_the_audit():
    """The same seed and the same outputs give the same verdict, another seed another."""
    one, two, other = (
        dn.audit(grid_laplace(2.0, 0), 0.0, 1.0, claim=1.0, samples=300, batched=True, seed=seed) for seed in (5, 5, 6)
    )
    assert (one.lower_bound, one.witness) == (two.lower_bound, two.witness)
    assert one.witness != other.witness


def test_samples_are_counted_and_never_exceeded():
    """The sampler is called as often as the verdict says, and no oftener than asked for."""
    for method, asked in (("auto", 20), ("auto", 101), ("anytime", 20), ("anytime", 101)):
        calls = []

        def sampler(x, calls=calls):
            calls.append(x)
            return 1.0

        verdict = dn.audit(sampler, 0, 1, claim=1.0, samples=asked, method=method, seed=0)
        assert verdict.samples == len(calls) <= asked


# Whatever comes out of a mechanism.

TEXTS = ("It was in London, on May 3rd.", "It was in Paris, on May 4th.")
KINDS = {
    "floats": lambda x, noise: float(x) + noise,
    "ints": lambda x, noise: int(x) + round(noise),
    "bools": lambda x, noise: bool(x) ^ (noise > 2),
    "arrays": lambda x, noise: np.full((2, 3), float(x)) + noise,
    "integer arrays": lambda x, noise: np.full(4, int(x)) + round(noise),
    "lists of numbers": lambda x, noise: [float(x), noise],
    "0-d arrays": lambda x, noise: np.array(float(x) + noise),
    "words": lambda x, noise: f"w{round(x + noise)}",
    "texts": lambda x, noise: TEXTS[x] if noise < 2 else TEXTS[1 - x],
    "tokens": lambda x, noise: [*TEXTS[x].split(), str(round(noise))],
    "numpy strings": lambda x, noise: np.str_(f"w{x} {round(noise)}"),
    "odd Unicode": lambda x, noise: "\U0001f9ff\u202e\x00 e\u0301\udc80"[: 3 + x] + str(round(noise)),
    "some empty": lambda x, noise: "" if noise > 1 - 3 * x else "a",
    "long texts": lambda x, noise: " ".join(["lorem", "ipsum"] * 2_000 + [str(x), str(round(noise))]),
    "numbers as texts": lambda x, noise: f"{3 * x + noise:.6f}",
    "moved support": lambda x, noise: abs(noise) + 100 * x,
}


@pytest.mark.parametrize("kind", [*list(KINDS)[::2], *(pytest.param(kind, marks=deep) for kind in list(KINDS)[1::2])])
def test_every_kind_of_output_is_audited(kind):
    """A mechanism with too little noise is refuted, whatever it returns; the same without its input is not."""
    random = stream(7)
    make = KINDS[kind]
    audit = {"claim": 0.1, "samples": 200, "seed": 3, "confidence": 0.999}
    assert dn.audit(lambda x: make(x, random.normal()), 0, 1, **audit).status == "refuted"
    assert dn.audit(lambda _: make(0, random.normal()), 0, 1, **audit).status == "not refuted"


def test_what_never_or_always_differs():
    """A deterministic mechanism with one output tells nothing; with two it is refuted, however little they differ."""
    for output in (1.0, "a", [0, 1], ""):
        verdict = dn.audit(lambda _, output=output: output, 0, 1, claim=0.0, samples=200, seed=0, confidence=0.999)
        assert verdict.status == "not refuted"
    numbers, texts = (
        [(0.0, 5e-324), (1.0, 1.0 + 2**-52), (1e300, -1e300), (2**60, 2**60 + 1)],
        [("a b", "b a"), ("", " ")],
    )
    for outputs in (*numbers, *texts, ([1, 0], [0, 1])):
        verdict = dn.audit(lambda x, outputs=outputs: outputs[x], 0, 1, claim=1.0, samples=200, seed=0)
        assert verdict.status == "refuted"
        assert verdict.witness.correct_guesses == verdict.witness.guesses


FORMS = {
    "types": lambda x, _: (3, 3.0)[x],
    "flags": lambda x, _: (1, True)[x],
    "numpy integers": lambda x, _: (3, np.int64(3))[x],
    "signs of zero": lambda x, _: (0.0, -0.0)[x],
    "dtypes": lambda x, _: np.zeros(2, ("f4", "f8")[x]),
    "byte orders": lambda x, _: np.zeros(2, ("<f8", ">f8")[x]),
    "lists and tuples": lambda x, _: ([1, 2], (1, 2))[x],
    "types in lists": lambda x, noise: [noise, (2, 2.0)[x]],
    "types of noise": lambda x, noise: (float, np.float64)[x](noise),
    "orders in memory": lambda x, _: np.ones((2, 3), order="CF"[x]),
    "underscores": lambda x, _: ("10", "1_0")[x],
    "digits of another script": lambda x, _: ("10", "\uff11\uff10")[x],
    "normal forms": lambda x, noise: str(round(noise * 1e6)) + ("\u00e9", "e\u0301")[x],
    "bytes that are no UTF-8": lambda x, _: ("a\udc80", "a\udc81")[x],
    "blanks": lambda x, _: ("", " ")[x],
    "line ends": lambda x, noise: f"{noise:.6f}" + ("", "\r")[x],
    "trailing zeros": lambda x, noise: f"{noise:.6f}{('', '0')[x]}",
    "signs": lambda x, noise: f"{('', '+')[x]}{abs(noise):.6f}",
    "white space": lambda x, noise: f"{round(noise * 1e6)} {' ' * x}{round(noise * 1e5)}",
    "words": lambda x, _: (["a b", "c"], ["a", "b c"])[x],
    "lists of words": lambda x, _: ("a b", ["a", "b"])[x],
    "long integers": lambda x, _: 2**60 + x,
    "long noisy integers": lambda x, noise: 2**60 + 10**7 * x + round(1e4 * noise),
}


@pytest.mark.parametrize(
    ("kind", "method"),
    [
        *((kind, "auto") for kind in list(FORMS)[::3]),
        *(pytest.param(kind, method, marks=deep) for kind in FORMS for method in ("auto", "anytime")),
    ],
)
def test_what_differs_in_form_only_is_refuted(kind, method):
    """Outputs are compared as they came: what is equal as a number or a word is told apart all the same."""
    random = stream(3)
    verdict = dn.audit(lambda x: FORMS[kind](x, random.normal()), 0, 1, claim=2.0, samples=300, method=method, seed=0)
    assert verdict.status == "refuted"


def test_a_refutation_by_form_says_what_rounded_outputs_show():
    """Beside integers that come as floats for one input stands the verdict on the numbers."""
    random = stream(3)
    verdict = dn.audit(lambda x: (int, float)[x](random.integers(9)), 0, 1, claim=1.0, samples=400, seed=0)
    assert verdict.status == "refuted"
    assert "how the output is given" in verdict.witness.output
    assert verdict.rounded_verdict.status == "not refuted"


@pytest.mark.parametrize(
    ("x", "x_prime"),
    [("a b", "c d"), (["a"], ["b"]), ({"k": 1}, {"k": 2}), ([[1], [2, 3]], [[1], [2, 4]]), (False, True),
     (np.zeros(8, bool), np.ones(8, bool)), (b"a", b"b"), ((), (1,)), (np.zeros((2, 2)), np.ones((2, 2)))],
)  # fmt: skip
def test_any_input_will_do(x, x_prime):
    """Inputs are passed on as they are: texts, lists, ragged ones, records, flags, bytes."""
    verdict = dn.audit(lambda given: float(repr(given) == repr(x)), x, x_prime, claim=1.0, samples=200, seed=0)
    assert verdict.status == "refuted"
    assert len(str(verdict.witness)) < 300


@pytest.mark.parametrize("scale", [1e39, 1e300])
def test_huge_outputs(scale):
    """Noise of any finite size is audited without a warning."""
    random = stream(1)
    verdict = dn.audit(lambda x: x + scale * random.normal(), 0.0, scale, claim=3.0, samples=200, seed=0)
    assert verdict.status == "not refuted"


def test_equal_inputs():
    """Inputs that are equal, or given twice, are never told apart."""
    for inputs in ({"x": 1.0, "x_prime": 1.0}, {"candidates": [0, 0, 0]}, {"pairs": [("a", "a"), ("b", "b")]}):
        verdict = dn.audit(lambda x: x, claim=0.0, samples=300, seed=0, confidence=0.999, **inputs)
        assert verdict.status == "not refuted"


# What is refused.


def noisy(x):
    return float(x) + 0.5


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("claim", (-1, math.nan, math.inf, True, "1", None, [1.0], 10**400, 1j)),
        ("delta", (-0.1, 1, 1.5, math.nan, True, None)),
        ("confidence", (0, 1, -1, 2, math.nan, True, None, "0.9")),
        ("samples", (0, 19, -5, 50.0, True, None, "50")),
        ("seconds", (0, -1, math.nan, math.inf, "1", True)),
        ("seed", (-1, 1.5, "x")),
        ("method", ("foo", None, ["coin"])),
        ("distance", (0, -1.0, math.nan, math.inf, True, "x", None, [1.0, 1.0], np.ones((2, 2)), 10**400, 1j)),
        ("distance", (lambda *_: 0.0, lambda *_: -1, lambda *_: "x", lambda *_: None, lambda *_: math.nan)),
    ],
)
def test_parameters_out_of_their_domain(name, values):
    """Each is refused in one line that names it."""
    for value in values:
        with refuses(name):
            dn.audit(noisy, 0, 1, **{"claim": 1.0, "samples": 50, name: value})


@pytest.mark.parametrize(
    ("inputs", "distances"),
    [
        (
            {"pairs": [(0, 1), (1, 2)]},
            [0, "x", None, math.nan, [1.0], [1.0, 0.0], [1, "x"], np.ones((2, 2)), lambda *_: "x", lambda *_: -1.0],
        ),
        (
            {"candidates": [0, 1, 2]},
            [
                *(0, "x", None, [1.0, 1.0, 1.0], [[0, 1], [1, 0]], [[0, 1], [1, 0, 1]]),
                *([[0, 1, 2], [1, 0, 1], [3, 1, 0]], lambda *_: "x", lambda a, b: a - b),
            ],
        ),
    ],
)
def test_distances(inputs, distances):
    """One positive distance is needed for each pair, and of candidates a symmetric (K, K), or a function."""
    for distance in distances:
        with refuses("distance"):
            dn.audit(noisy, distance=distance, claim=1.0, **inputs)


@pytest.mark.parametrize(
    ("inputs", "says"),
    [
        ({}, "candidates"),
        ({"x": 0}, "x_prime"),
        ({"x_prime": 0}, "x_prime"),
        ({"x": 0, "x_prime": 1, "pairs": [(0, 1)]}, "either"),
        ({"pairs": [(0, 1)], "candidates": [0, 1]}, "either"),
        ({"pairs": []}, "at least one pair"),
        ({"pairs": [0]}, "pair"),
        ({"pairs": [(0, 1, 2)]}, "pairs of inputs"),
        ({"pairs": 5}, "pairs of inputs"),
        ({"candidates": []}, "at least two inputs"),
        ({"candidates": [0]}, "at least two inputs"),
        ({"candidates": 5}, "at least two inputs"),
        ({"x": 0, "x_prime": 1, "method": "pooled"}, "'coin'"),
        ({"candidates": [0, 1], "method": "coin"}, "'candidates'"),
        ({"pairs": [(0, 1)], "method": "candidates"}, "'pooled'"),
        ({"x": 0, "x_prime": 1, "delta": 0.1, "method": "anytime"}, "delta"),
        ({"candidates": [0, 1, 2], "delta": 0.1}, "delta"),
        ({"x": 0, "x_prime": 1, "sampler": 5}, "callable"),
        ({"candidates": list(range(60)), "sampler": lambda _: "a"}, "more samples"),
        ({"x": 0, "x_prime": 1, "method": "precision", "sampler": lambda x: x}, "floats as outputs"),
        ({"x": 0, "x_prime": 1, "method": "precision", "sampler": str}, "floats as outputs"),
    ],
)
def test_inputs_that_make_no_game(inputs, says):
    """What is given twice, not at all, or in no form that can be played is refused."""
    options = {"sampler": noisy, "claim": 1.0, "samples": 50} | inputs
    with refuses(says):
        dn.audit(options.pop("sampler"), **options)


def _after(count, first, then):
    """Return a sampler that gives something else after so many calls."""
    calls = iter(range(10**6))
    return lambda _: first if next(calls) < count else then


def _boom(_):
    raise RuntimeError("two\nlines")


def _prints(_):
    print("here")  # noqa: T201 - that is what is refused
    return 1.0


@pytest.mark.parametrize(
    ("sampler", "says"),
    [
        (_boom, "RuntimeError"),
        (_prints, "printed 'here"),
        (lambda _: None, "nothing"),
        (lambda _: math.nan, "nan"),
        (lambda _: np.array([1.0, -math.inf]), "[1.0, -inf]"),
        (lambda _: np.array([]), "empty arrays"),
        (lambda _: 1j, "Got 1j"),
        (lambda _: b"a", "Got b'a'"),
        (lambda _: {}, "Got {}"),
        (lambda _: [[1], [1, 2]], "Got [[1], [1, 2]]"),
        (lambda _: np.array([["a", "a"]]), "must return"),
        (_after(5, 1.0, "a"), "Got 'a'"),
        (_after(5, "a", 1.0), "1.0"),
        (_after(40, 1.0, "a"), "one kind"),
        (_after(5, np.zeros(2), np.zeros(3)), "(2,) and (3,)"),
        (_after(40, np.zeros(2), np.zeros(3)), "(3,)"),
        (_after(40, 1.0, math.nan), "finite numbers"),
        (lambda _: [1, None], "nothing"),
        (lambda _: np.zeros(2, [("a", int)]), "Got"),
        (lambda _: np.zeros(2).view(np.recarray), "recarray"),
        (lambda _: type("Note", (str,), {"__slots__": ("remark",)})("a"), "Note"),
        (lambda _: enum.IntEnum("Number", "THREE").THREE, "Number"),
        (lambda _: pd.Series([1.0], index=["private"]), "Series"),
        (lambda _: pd.NA, "NAType"),
        (lambda _: decimal.Decimal(3), "Decimal"),
        (lambda _: np.ma.masked_array([2.0, 1.0], mask=[True, False]), "MaskedArray"),
        (lambda _: 2**62, "as text"),
        (lambda _: np.longdouble(1), "64 bits"),
    ],
)
def test_samplers_that_cannot_be_audited(sampler, says):
    """A sampler that fails, prints, or returns what no user could receive ends the audit, in fitting or in play."""
    with refuses(says):
        dn.audit(sampler, 0, 1, claim=1.0, samples=120)


@pytest.mark.parametrize(
    ("sampler", "got"),
    [
        (lambda _: [1.0], "Got 1 for"),
        (lambda _: None, "Got None for"),
        (lambda x: "a" * len(x), "for 20"),
        (lambda _: np.array(1.0), "for 20"),
        (lambda x: (value for value in x), "for 20"),
        (lambda x: np.zeros(len(x) + 1), "Got 21 for 20"),
    ],
)
def test_batched_samplers_return_as_many(sampler, got):
    """A batch of another length, or of none, is refused."""
    with refuses(got):
        dn.audit(sampler, 0.0, 1.0, claim=1.0, samples=60, batched=True)


def test_batches_of_inputs_of_several_shapes():
    """Inputs that cannot be stacked reach a batched sampler as a list, or are refused in one line."""
    verdict = dn.audit(
        lambda given: [float(len(x)) for x in given], np.zeros(2), np.zeros(3), claim=1.0, samples=60, batched=True
    )
    assert verdict.status == "refuted"


def test_batches_of_masked_inputs():
    """Inputs that a stack would strip of their masks reach a batched sampler as a list."""
    x, x_prime = (np.ma.masked_array([1.0, 2.0], mask=mask) for mask in ([False, False], [False, True]))
    verdict = dn.audit(
        lambda given: [float(np.ma.getmaskarray(x).sum()) for x in given],
        x, x_prime, claim=1.0, samples=60, batched=True, seed=0,
    )  # fmt: skip
    assert verdict.status == "refuted"


def _slow(x):
    time.sleep(0.01)
    return float(x)


def test_out_of_time():
    """A budget of seconds ends a fixed audit with an error, and an anytime one with what it has, or nothing."""
    with refuses("0.1 seconds"):
        dn.audit(_slow, 0, 1, claim=1.0, seconds=0.1)
    for seconds in (0.05, 1.0):
        verdict = dn.audit(_slow, 0, 1, claim=50.0, seconds=seconds, method="anytime")
        assert verdict.status == "not refuted"
        assert "budget of time spent" in verdict.method
        assert verdict.samples < 10_000


def test_a_call_without_a_claim():
    """The claim is needed, and the error of a call without it names it."""
    for arguments in (["x"], [abs, 1, 2]):
        with refuses("claim", TypeError):
            dn.audit(*arguments)


def test_an_interruption_ends_the_audit():
    """Ctrl-C while a sampler runs is none of its failures, also where compiled code made another error of it."""
    error = SystemError("an exception set")
    error.__cause__ = KeyboardInterrupt()

    def sample(_):
        raise error

    with pytest.raises(SystemError):
        dn.audit(sample, 0, 1, claim=1.0)
