"""Every declared study from end to end, at sizes of a second or two, and what is particular to one."""

import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import pytest

import deniable as dn
from studies import (
    STUDIES,
    adept_atis,
    adept_sensitivity,
    certified_images,
    density,
    dpal,
    dpal_audit,
    dpal_trainings,
    dptext,
    frontier,
    gumbel_deniability,
    language_model_attacker,
    metrics,
    noise_samplers,
    persons_imdb,
    readable_texts,
    robust,
    robust_causes,
    sanity_check,
    sensitive_embeddings,
    tem_utility,
)
from studies.ledger import Ledger
from studies.page import build_page
from studies.plotter import describe_figure, draw_figure
from studies.reviews import LAPLACE, ORIGINAL
from studies.rows import Row, find_row, rows_of
from studies.runner import Context, measure_cells, run_study
from studies.study import Grid
from tests.small_llama import require_package

# Loaded here, so that it is kept to one thread: more of them only wait for each other.
pytest.importorskip("torch")

DPAL = dpal.Schedule(
    attack_sizes=(0.05,),
    images=12,
    gradient_draws=1,
    votes=2,
    dpal_votes=3,
    pgd_steps=2,
    private_steps=2,
    private_batch=300,  # all of them, for which accounting takes no time
    dpal_steps=2,
    dpal_attack_steps=1,
    dpal_batch=40,
    adlm_steps=2,
    adlm_batch=10,
    pixeldp_steps=2,
    width=0.25,
    certified_images=4,
    choosing=5,
    certified_draws=20,
    proved_draws=20,
)
ROBUST = robust.Schedule(
    train=40,
    test=20,
    normal_epochs=3,
    ibp_epochs=3,
    augmented_epochs=1,
    batch=16,
    copies=1,
    population=4,
    generations=2,
    pool=3,
    smoothed=4,
    selection=5,
    estimation=20,
    interval=2,
)
TINY = {
    "adept-sensitivity": Grid(
        tuple(cell for cell in adept_sensitivity.CELLS if cell[-1] in {2, 8, 32}), adept_sensitivity.Sizes(60)
    ),
    "sanity-check": Grid(
        tuple(cell for cell in sanity_check.build_cells((1, 2)) if cell[-1] != 10_000_000),
        sanity_check.Sizes(5_000, 8_000, 300, 300, 300, audits=2, audits_samples=60),
    ),
    "gumbel-deniability": Grid(
        gumbel_deniability.build_cells(
            {
                LAPLACE: (1.0, 4.0, 40.0),
                "truncated-gumbel": (0.0, -3.0, 12.0),
                "tem": (1.0, 8.0),
                "calibrated": (1.0, 5.0),
                "tight": (4.0,),
            },
            {LAPLACE: (4.0,), "truncated-gumbel": (12.0,)},
        ),
        gumbel_deniability.Sizes(words=8, runs=60, dense_words=2, dense_runs=20),
    ),
    "tem-utility": Grid(
        tem_utility.build_cells((2.0, 4.0)), tem_utility.Sizes(2, 20, 8, words=None, dimensions=4, epochs=2)
    ),
    "sensitive-embeddings": Grid(
        tuple(cell for cell in sensitive_embeddings.CELLS if cell[1] in {None, 4.0}),
        sensitive_embeddings.Sizes(
            reviews=20, words=60, dimensions=4, left_out=2, private=20, vocabulary=80, trials=2, epochs=1
        ),
    ),
    "density": Grid(
        density.build_cells({name: epsilons[1:3] for name, epsilons in density.EPSILONS.items()}),
        density.Sizes(words=60, draws=20),
    ),
    "frontier": Grid(
        frontier.build_cells(
            {
                "calibrated": (2.0, 4.0),
                "tight": (2.0,),
                "tem": (2.0, 6.0),
                LAPLACE: (6.0, 14.0),
                "truncated-gumbel": (200.0,),
            }
        ),
        frontier.Sizes(trials=2, reviews=20, words=120, dimensions=4, epochs=2),
    ),
    "metrics": Grid(
        metrics.build_cells((*metrics.RIVALS, "steps", "steps-8-4"), ("steps", "nearest", "euclidean")),
        metrics.Sizes(words=300, reviews=20, read=0),
    ),
    "language-model-attacker": Grid(
        language_model_attacker.build_cells(((language_model_attacker.IMDB, language_model_attacker.STEPS),)),
        language_model_attacker.Sizes(words=300, texts=2, length=4, around=2, beam=2, learned=10),
    ),
    "dpal-audit": Grid(
        dpal_audit.STUDY.full.cells,
        dpal_audit.Sizes(
            batch=200,
            neurons=64,
            dense_neurons=16,
            differences=1_000,
            adversarial=20,
            recoveries=10,
            steps=10,
            training_images=300,
            epochs=20,
        ),
    ),
    "dpal": Grid(
        dpal.build_cells({"mnist": (0.2,), "cifar10": (2.0,)}),
        dpal.Sizes(DPAL, dataclasses.replace(DPAL, width=0.125, train=120, private_batch=120)),
    ),
    "certified-images": Grid(
        certified_images.build_cells((8.0,), (0.1,)),
        certified_images.Sizes(
            trials=2, train=300, steps=2, batch=300, plain_steps=2, images=12, attacked=6, pgd_steps=2
        ),
    ),
    "dpal-trainings": Grid(
        dpal_trainings.build_cells({dpal_trainings.PRINTED: (1, 2), dpal_trainings.SLOW: (1,), "xi 0": (1,)}, (30.0,)),
        dpal_trainings.Sizes(dataclasses.replace(DPAL, train=120), slow_steps=1, mended_steps=2, mended_batch=40),
    ),
    "dptext": Grid(
        dptext.build_cells((1.0,)),
        dptext.Sizes(
            cities=2,
            intents=1,
            train=90,
            known=70,
            test=60,
            dimensions=4,
            hidden=8,
            epochs=2,
            trees=5,
            chosen=20,
            identified=20,
            audit_samples=200,
            draws=10_000,
        ),
    ),
    "adept-atis": Grid(
        adept_atis.build_cells((1.0, 300.0), (3, 4), (300.0,), (300.0,)),
        adept_atis.Sizes(
            dimensions=4,
            hidden=16,
            embedding=8,
            epochs=2,
            spliced=1,
            short=1,
            train=120,
            test=40,
            releases=300,
            beyond=200,
            rewritten=100,
            proposals=60,
            inverting=1,
            searched=5,
            tuning=1,
            samples=300,
        ),
    ),
    "robust": Grid(
        robust.build_cells(
            {
                name: {"truncated-gumbel": (-2.0, log, 17.0), LAPLACE: (1.0, 200.0), "calibrated": (1.5,)}
                for name, log in (("imdb", 4.67), ("nli", 4.52))
            }
        ),
        robust.Sizes(ROBUST, dataclasses.replace(ROBUST, batch=8)),
    ),
    "robust-causes": Grid(
        (
            ("data",),
            ("ibp",),
            ("batches",),
            ("ibp", "genetic", 10.0),
            ("augmented", "greedy", 10.0),
            ("normal", "resampling", 10.0),
            ("ibp", "genetic", None),
        ),
        robust_causes.Sizes(ROBUST, attacked=6, draws=60),
    ),
    "persons-imdb": Grid(
        tuple(
            (curve, epsilon)
            for curve, epsilon in persons_imdb.STUDY.full.cells
            if epsilon in {None, 4.0} and curve != persons_imdb.COUNTED  # which needs thousands of records
        ),
        persons_imdb.Sizes(trials=2, rows=30),
    ),
    "readable-texts": readable_texts.STUDY.quick,
}
"""Study -> a small grid."""


def measure_tiny(name, data=None, **changes):
    """Return the rows of some cells of a tiny grid."""
    grid = dataclasses.replace(TINY[name], **changes)
    return measure_cells(STUDIES[name], grid, Context(grid.sizes, 3, data))


def test_every_study_is_tried():
    """No declaration is left out here."""
    assert list(TINY) == list(STUDIES)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "adept-sensitivity" else pytest.mark.deep) for name in TINY]
)
def test_rows_make_page_and_figure(name, study_data, tmp_path):
    """The rows of any grid give a page and a picture; every row has a metric, every outcome is one."""
    study = STUDIES[name]
    for package in study.packages:
        require_package(package)
    results = run_study(study, tmp_path, seed=3, data=study_data, grid=TINY[name])
    facts = {"seed": 3, "version": "0", "seconds": 1.0, "machine": "none"}
    text = build_page(study, dataclasses.replace(results, facts=facts), "1. Nothing.\n")
    assert f"python -m studies run {name}" in text
    assert draw_figure(describe_figure(study, results), results.picture).startswith(b"\x89PNG")
    assert {row.metric for row in results.rows} <= set(study.metrics)
    for row in results.rows:
        assert row.low is None or row.low <= row.value <= row.high


@pytest.mark.parametrize("name", TINY)
def test_declarations_are_whole(name):
    """Curves and metrics that statements, panels and tables name are declared; the quick grid is a smaller one."""
    study = STUDIES[name]
    lines = [line for panel in study.panels for line in panel.lines]
    assert {line.metric for line in lines} <= set(study.metrics)
    assert {line.curve for line in lines} <= set(study.curves)
    assert {column.partition("|")[0] for table in study.tables for column in table.columns} <= set(study.metrics)
    assert len(study.quick.cells) <= len(study.full.cells)
    assert len(set(study.full.cells)) == len(study.full.cells)


@pytest.mark.deep
def test_shares_are_those_of_all_pairs():
    """Every share is that of a direct count over all pairs of the same vectors."""
    name = "adept-sensitivity"
    rows = measure_tiny(name)
    for distribution, radius, n in (cell for cell in TINY[name].cells if len(cell) == 3):
        random = np.random.default_rng(Context(None, 3).derive_seed(distribution, n))
        drawn = adept_sensitivity.DRAWS[distribution](random, (60, n))
        clipped = dn.L2Ball(radius).clip(drawn)
        apart = np.abs(clipped[:, None] - clipped[None]).sum(axis=2)[np.triu_indices(60, 1)]
        curve = adept_sensitivity.name_curve(distribution, radius)
        assert find_row(rows, curve, n, "pairs beyond").value == np.mean(apart > 2 * radius)
        touched = np.mean(np.linalg.norm(drawn, axis=1) > radius)
        assert find_row(rows, curve, n, "vectors clipped").value == touched
    assert find_row(rows, "the clip", 8, "sensitivity found").value == pytest.approx(math.sqrt(8), rel=1e-6)


@pytest.mark.deep
def test_truth_limit_estimate_and_bound_fit_together():
    """Limits lie below the truth, bounds too as far as few samples can tell, and DPText loses all."""
    rows = measure_tiny("sanity-check")
    for row in rows:
        if row.metric == "true loss" and find_row(rows, row.curve, row.x, "mean estimate") is None:
            limit, bound = (find_row(rows, row.curve, row.x, metric).value for metric in ("limit", "lower bound"))
            assert limit <= row.value * (1 + 1e-9)
            assert bound <= max(1.2 * row.value, 0.3)
    for curve in ("copy", "dptext-zero, epsilon 1", "dptext-redraw, epsilon 1"):
        assert find_row(rows, curve, 1, "published estimate").value == math.inf
        assert find_row(rows, curve, 1, "refuted").value == 1
    assert find_row(rows, "adept, epsilon 1", 2, "true loss").value == pytest.approx(math.sqrt(2))
    assert 0.4 < find_row(rows, "half-sum, 10,000 repeats", 1, "accused").value < 0.6
    assert find_row(rows, "read at 1/2, 1,000,000 repeats", 1, "accused").value == 0


@pytest.mark.deep
def test_cells_do_not_depend_on_each_other():
    """A cell measured alone gives the rows that it gives among others."""
    whole = measure_tiny("sanity-check")
    cell = ("check", "laplace", 1.0, 2)
    assert set(measure_tiny("sanity-check", cells=(cell,))) <= set(whole)


@pytest.mark.deep
def test_what_is_known_of_each_mechanism(study_data):
    """Every mechanism has what is proved of it, what a guesser names, and means over its trials."""
    rows = measure_tiny("tem-utility", study_data)
    for name in tem_utility.NAMES:
        for epsilon in (2.0, 4.0):
            assert 0 < find_row(rows, name, epsilon, "epsilon proved").value <= epsilon
            assert 0 < find_row(rows, name, epsilon, "words kept").value < 1
            assert find_row(rows, name, epsilon, "accuracy").n == 2
            assert (find_row(rows, name, epsilon, "words named").n > 0) == (name == LAPLACE)
    assert find_row(rows, ORIGINAL, None, "auc, private records") is None


def judge_made_up(name, rows):
    """Return the outcomes of a study's statements on made-up rows, by the first words of each."""
    everything = (*rows, *STUDIES[name].published)
    return [statement.judge(everything) for statement in STUDIES[name].everything_judged]


@pytest.mark.deep
def test_shared_noise_hides_nothing(study_data):
    """DPAL's experiments tell data sets apart, their controls do not, and the pictures recovered are the originals."""
    grid = dataclasses.replace(TINY["dpal-audit"], cells=(("differences",), ("recovery",)))
    context = Context(grid.sizes, 3, study_data)
    rows = measure_cells(STUDIES["dpal-audit"], grid, context)
    assert find_row(rows, dpal_audit.IMAGES, None, "runs told apart").value == 1
    assert find_row(rows, dpal_audit.name_control(dpal_audit.IMAGES), None, "epsilon at least").value == 0
    assert find_row(rows, dpal_audit.BATCH, None, "images recovered").value == 1
    original, perturbed, recovered, control = np.split(dpal_audit.paint_batch(context), 4)
    assert np.abs(original.astype(int) - recovered).max() <= 1
    assert min(np.abs(original.astype(int) - other).mean() for other in (perturbed, control)) > 30


def test_statements_on_dpal():
    """Bounds above the claims speak against them, and bounds of nothing do not."""
    for bound, outcome in ((5.0, "does not agree"), (0.0, "agrees")):
        rows = [
            row
            for curve in (*dpal_audit.EXPERIMENTS, dpal_audit.LAW)
            for row in rows_of(curve, None, epsilon_claimed=0.1, epsilon_at_least=bound)
        ]
        outcomes = judge_made_up("dpal-audit", rows)
        assert [outcomes[place] for place in (0, 1, 3, 4, 5)] == [outcome] * 5
        assert outcomes[2] == "not measured"


def test_half_of_the_noise_does_not_exist():
    """Half of the uniform numbers have no logarithm, and none of the others gives a negative number."""
    missing, negative = noise_samplers.count_missing(10_000, seed=0)
    assert missing.interval[0] < 0.5 < missing.interval[1]
    assert negative.value == 0


@pytest.mark.deep
def test_zeros_give_the_text_away(study_data):
    """With zeros nearly every text is found and nothing lies below its input; corrected, the claim is proved."""
    cells = (("as published, zeros", 1.0, True), ("as published, zeros", 1.0, False), ("corrected", 1.0, True))
    rows = measure_tiny("dptext", study_data, cells=cells)
    for has_adversary in (True, False):
        curve = dptext.name_curve(dptext.ZEROED, has_adversary)
        assert find_row(rows, curve, 1, "text found").value > 0.7
        assert find_row(rows, curve, 1, "below the input").value == 0
        assert find_row(rows, curve, 1, "epsilon by law").value == math.inf
    curve = dptext.name_curve(dptext.CORRECTED, has_adversary=True)
    assert find_row(rows, curve, 1, "proved").value == 1
    assert 0.3 < find_row(rows, curve, 1, "below the input").value < 0.7


def test_statements_on_dptext():
    """Whether the city stays hidden is decided against whoever guesses blindly."""
    hidden = dptext.WITH[0]
    blind = [Row(dptext.BLIND, None, metric, 0.55) for metric in ("city named", "city named, texts listed")]
    for shares, outcome in (((0.55, 0.55), "agrees"), ((0.55, 1.0), "does not agree"), ((0.9, 1.0), "does not agree")):
        rows = [
            Row(hidden, 1.0, metric, share)
            for metric, share in zip(("city named", "city named, texts listed"), shares, strict=True)
        ]
        assert judge_made_up("dptext", [*blind, *rows])[9] == outcome


@pytest.mark.deep
def test_every_method_is_attacked(study_data):
    """Methods that release vectors are attacked by these too, never more often right than a claim of 1 permits."""
    rows = measure_tiny("adept-atis", study_data)
    for name in adept_atis.TITLES:
        permitted = find_row(rows, name, 1, "named, permitted").value
        named = [find_row(rows, name, 1, f"named from the {source}") for source in ("vector", "text")]
        assert (named[0] is None) == (name == adept_atis.TOKENS)
        assert all(row.low < permitted for row in named if row is not None)
        assert find_row(rows, name, 300, "named, permitted").value > 0.999
    frequent, original = (
        find_row(rows, curve, None, "intents named").value for curve in (adept_atis.FREQUENT, adept_atis.ORIGINAL)
    )
    assert frequent < original
    for n in (3, 4):
        vectors, texts = (
            find_row(rows, adept_atis.ENCODERS, n, f"largest distance{end}").value for end in (" of vectors", "")
        )
        assert vectors == pytest.approx(math.sqrt(n), rel=1e-6)
        assert 1 < texts <= vectors
    assert len([row for row in rows if row.curve == adept_atis.name_tuned("adept") and row.x == 300]) == 3


@pytest.mark.deep
def test_an_encoder_is_trained_once(study_data, tmp_path, monkeypatch):
    """A run that was interrupted reads the auto-encoder that it had trained, and goes on to the same rows."""
    from studies import rewritten

    trained, fit = [], rewritten.fit_rewriter
    monkeypatch.setattr(rewritten, "fit_rewriter", lambda *given, **named: trained.append(1) or fit(*given, **named))
    ledger = Ledger(tmp_path / "unfinished")
    sizes, cell = TINY["adept-atis"].sizes, ("distances", "adept")
    for first in (("corpus",), cell):
        rows = adept_atis.measure(Context(sizes, 3, study_data, ledger), *first)
    assert len(trained) == 1
    assert sorted(path.name for path in (tmp_path / "unfinished").iterdir()) == ["encoder-4.model"]
    assert rows == adept_atis.measure(Context(sizes, 3, study_data), *cell)


def test_statements_on_adept():
    """The claim stands or falls with the audit, and the attack agrees where it refutes the published method alone."""
    for refuted, outcomes in (((1, 0), ("does not agree", "agrees")), ((1, 1), ("does not agree", "agrees in part"))):
        rows = [
            Row(adept_atis.PUBLISHED, 1.0, "refuted, likelihood", refuted[0]),
            Row(adept_atis.PUBLISHED, 1.0, "refuted by ranking", refuted[0]),
            Row(adept_atis.L1, 1.0, "refuted by ranking", refuted[1]),
        ]
        judged = judge_made_up("adept-atis", rows)
        assert (judged[4], judged[5]) == outcomes
    words = [Row(adept_atis.BLIND, None, "words, guess", 0.2), Row(adept_atis.PUBLISHED, 1000.0, "words, guess", 0.6)]
    reached = Row(adept_atis.BLIND, None, "reached", 0.01)
    assert judge_made_up("adept-atis", [*words, reached])[9:11] == ["does not agree", "agrees"]


def test_accuracies_between_points():
    """Accuracies are read between points by straight lines, on three axes, and nowhere beyond them."""
    rows = [
        row
        for epsilon, accuracy, success in ((2.0, 0.6, 0.1), (4.0, 0.8, 0.5))
        for row in rows_of("tem", epsilon, accuracy=accuracy, epsilon_proved=epsilon / 2, words_named=success)
    ]
    derived = list(frontier.derive_rows(rows))
    assert find_row(derived, "tem", 3.0, "accuracy at claim").value == pytest.approx(0.7)
    assert find_row(derived, "tem", 1.5, "accuracy at proof").value == pytest.approx(0.7)
    assert find_row(derived, "tem", 0.2, "accuracy at success").value == pytest.approx(0.65)
    assert find_row(derived, "tem", 6.0, "accuracy at claim") is None
    assert {row.curve for row in derived} == {"tem"}


def test_statements_on_the_frontier():
    """A mechanism is ahead by more than two points at all places, at some, or at none."""
    for gains, outcome in (((0.1, 0.1), "agrees"), ((0.1, 0.0), "agrees in part"), ((0.0, 0.01), "does not agree")):
        rows = [
            Row(name, place, "accuracy at claim", 0.7 + gain)
            for place, ahead in zip((4.0, 6.0), gains, strict=True)
            for name, gain in (("tem", ahead), (LAPLACE, 0.0))
        ]
        assert judge_made_up("frontier", rows)[0] == outcome


@pytest.mark.deep
def test_metrics_meet_at_one_success(study_data):
    """Every metric has the success that is asked for on its words, and an epsilon that its scale allows."""
    rows = measure_tiny("metrics", study_data)
    for space, metric in TINY["metrics"].cells:
        for target in metrics.TARGETS:
            curve = metrics.name_curve(space, metric, target.aim)
            guessed = find_row(rows, curve, target.success, "rare guessed" if target.aim == "rare" else "guessed").value
            assert guessed == pytest.approx(target.success, abs=0.005)
            scale, epsilon = (find_row(rows, curve, target.success, name).value for name in ("scale", "epsilon"))
            assert scale <= epsilon * (1 + 1e-9) <= 2 * scale * (1 + 1e-6)


def test_guesses_at_equal_accuracy():
    """What a reader guesses at an accuracy is read between two points by a straight line, and not beyond them."""
    for accuracies, expected in (((0.75, 0.79), 0.25), ((0.77, 0.79), None)):
        rows = [
            row
            for target, accuracy, read in zip(metrics.TARGETS[:2], accuracies, (0.2, 0.4), strict=True)
            for row in rows_of(
                metrics.name_curve("open", "steps", target.aim), target.success, accuracy=accuracy, read=read
            )
        ]
        row = find_row(metrics.derive_rows(rows), "open/steps/at accuracy", 0.76, "read, equal accuracy")
        assert (row is None) == (expected is None)
        assert row is None or row.value == pytest.approx(expected)


@pytest.mark.deep
def test_words_and_epsilons_of_the_vocabularies(study_data):
    """Counts are within what runs allow, points without a law are left out, and the paper's bound is below ours."""
    rows = measure_tiny("gumbel-deniability", study_data)
    for row in rows:
        if row.metric in {"kept", "outputs"}:
            assert 0 <= row.value <= 60
    assert len([row for row in rows if (row.curve, row.metric) == ("IMDB/truncated-gumbel", "kept")]) == 2
    for curve in ("IMDB", "IMDB, the paper's"):
        published, ours = (find_row(rows, curve, None, f"least epsilon{end}").value for end in (" as published", ""))
        assert published < ours
    assert find_row(rows, "IMDB, the paper's", None, "least epsilon").value == pytest.approx(120.3, abs=0.1)


def test_outputs_where_half_of_the_words_stay():
    """S_w is read in its logarithm between two points, and left out beyond them."""
    rows = [
        row
        for epsilon, kept, outputs in ((1.0, 40, 100), (2.0, 60, 1), (3.0, 90, 1))
        for row in rows_of("IMDB/tem", epsilon, kept=kept, outputs=outputs)
    ]
    (derived,) = gumbel_deniability.derive_rows([Row("IMDB", None, "runs", 100.0), *rows])
    assert derived.value == pytest.approx(10)
    assert not list(gumbel_deniability.derive_rows([Row("IMDB", None, "runs", 60.0), *rows]))


def test_dpal_is_compared_case_by_case():
    """DPAL's lead is the mean over single attacks at the places where both were measured."""
    rows = [
        Row(f"mnist/{system}", x, f"attacked, {attack}", value)
        for system, values in (("dpal", (0.8, 0.6, 0.1)), ("adlm", (0.5, 0.5, 0.9)))
        for x, attack, value in zip((0.2, 0.2, 0.2), ("fgsm", "mim", "mean of four"), values, strict=True)
    ]
    rows.append(Row("mnist/dpal", 1.0, "attacked, fgsm", 1.0))
    lead = find_row(dpal.derive_rows(rows), "mnist/dpal", None, "ahead of adlm, attacked")
    assert lead.value == pytest.approx(0.2)
    assert judge_made_up("dpal", [lead])[7] == "does not agree"
    lost = dpal.derive_rows([Row("mnist/dpal", x, "by size, mean of four", y) for x, y in ((0.6, 0.3), (0.05, 0.5))])
    assert {row.metric: row.value for row in lost} == {
        "lost from least to largest attack": pytest.approx(0.2),
        "mean over attack sizes": pytest.approx(0.4),
    }


@pytest.mark.deep
def test_gumbel_without_a_law_is_left_out(study_data):
    """Below its least epsilon truncated Gumbel gives no rows; all others say what is known of their claim."""
    cells = (("nli", "truncated-gumbel", -2.0), ("nli", LAPLACE, 200.0), ("nli", robust.TEXTS, None))
    rows = measure_tiny("robust", study_data, cells=cells)
    assert not [row for row in rows if row.curve == "nli/truncated-gumbel"]
    assert find_row(rows, f"nli/{LAPLACE}", 200, "epsilon by theorem").value == 200
    assert find_row(rows, "nli", None, "substitutes listed").value == 2
    assert find_row(rows, "nli", None, "substitutes known").value == 1
    assert find_row(rows, "nli, the paper's", None, "least epsilon").value == pytest.approx(104.9, abs=0.1)
    # At epsilon 200 copies are the texts themselves, and no word of an attack differs.
    clean, attacked = (find_row(rows, f"nli/{LAPLACE}", 200, name) for name in ("accuracy", "attacked, augmented"))
    assert clean == dataclasses.replace(attacked, metric="accuracy")


def test_models_are_compared_text_by_text():
    """The first model wins two of the three texts that one alone has right; where none differs there is no row."""
    text_models = pytest.importorskip("studies.text_models")
    first, second = np.array([1, 1, 1, 0, 0], dtype=bool), np.array([1, 0, 0, 1, 0], dtype=bool)
    (row,) = text_models.compare_hits("a", 1.0, "wins over ibp", first, second)
    assert (row.value, row.n) == (pytest.approx(2 / 3), 3)
    assert not list(text_models.compare_hits("a", 1.0, "wins over ibp", first, first))


def test_hits_are_kept_between_runs(tmp_path):
    """Which texts are right is read back from the ledger, also where their number is no multiple of eight."""
    text_models = pytest.importorskip("studies.text_models")
    hits = np.random.default_rng(0).random(13) < 0.5
    parameters = {"seed": 0}
    for find in (lambda _: hits, lambda _: pytest.fail("measured again")):
        context = Context(None, ledger=Ledger(tmp_path / "run", parameters))
        bench = SimpleNamespace(name="imdb", context=context, test=range(13))
        model = text_models.LazyModel(bench, "normal", lambda: None)
        assert (model.remember_hits("accuracy", find) == hits).all()


def test_statements_on_robust_training():
    """Levels count within three points, orders only where the interval lies on one side of a half."""
    ours, curve = {(10.0, "accuracy"): 0.88, (17.0, "accuracy"): 0.89}, "imdb/truncated-gumbel"
    rows = [Row(curve, place, metric, value) for (place, metric), value in ours.items()]
    statements = [statement.text for statement in robust.STUDY.statements]

    def judge(beginning, *more):
        (place,) = (place for place, text in enumerate(statements) if text.startswith(beginning))
        return judge_made_up("robust", [*rows, *more])[place]

    assert judge("IMDB, Table 2, truncated Gumbel: accuracy of augmented training without") == "agrees"
    assert judge("IMDB, Table 2, truncated Gumbel: accuracy of IBP") == "not measured"
    order = "IMDB, Table 3, multivariate Laplace: it outperforms IBP under attack only when epsilon > 150"
    for early, late, outcome in (
        ((0.1, 0.3), (0.7, 0.9), "agrees"),
        ((0.6, 0.8), (0.7, 0.9), "does not agree"),
        ((0.4, 0.7), (0.45, 0.8), "undecided"),
        ((0.6, 0.8), (0.1, 0.3), "does not agree"),
    ):
        shares = [
            Row(f"imdb/{LAPLACE}", place, "wins over ibp, attacked", sum(ends) / 2, *ends, 50)
            for place, ends in ((100.0, early), (200.0, late))
        ]
        assert judge(order, *shares) == outcome


def test_gains_are_shares_of_those_without_noise():
    """What is left of the gain over a blind guess is a share of that of all records with next to no noise."""
    rows = [
        *rows_of(persons_imdb.name_records(5_000), 4.0, accuracy=0.7),
        *rows_of(persons_imdb.PERSONS, 4.0, accuracy=0.8),
    ]
    assert list(persons_imdb.derive_rows(rows)) == []
    rows += rows_of(persons_imdb.name_records(25_000) + persons_imdb.NOISELESS, None, accuracy=0.9)
    (row,) = persons_imdb.derive_rows(rows)
    assert (row.curve, row.x, row.metric) == ("records, 5,000", 4.0, "gain left")
    assert row.value == pytest.approx(0.5)
