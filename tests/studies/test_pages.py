"""Pages and figures: they follow from the rows, and a check says where they do not."""

import dataclasses

import pytest
from PIL import Image

import studies
from studies import page as pages
from studies.__main__ import main
from studies.page import build_page, check_page, quote_numbers, write_page
from studies.plotter import compute_fingerprint, describe_figure, draw_figure, find_difference
from studies.rows import Results, read_results
from studies.runner import run_study, write_results
from tests.refusals import refuses
from tests.studies.toy import TOY

FINDINGS = '1. Sure: {{ at("sure", "accuracy", 2) }}.\n\n## Notes\n\nSeed {{ seed }}.\n'


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Return a folder with the toy's rows."""
    folder = tmp_path_factory.mktemp("results")
    run_study(TOY, folder)
    return folder


@pytest.fixture
def findings(tmp_path, monkeypatch):
    """Stand a folder of findings in for the repository's."""
    monkeypatch.setattr(pages, "FINDINGS", tmp_path / "findings")
    (tmp_path / "findings").mkdir()
    (tmp_path / "findings" / "toy_study.md").write_text(FINDINGS)
    return tmp_path / "findings" / "toy_study.md"


@pytest.fixture
def measured(results):
    return read_results(results, "toy_study")


def test_a_page_is_the_template_with_the_numbers(measured):
    """The page has question, figure, findings, statements, points, how to run it, and the notes, in this order."""
    text = build_page(TOY, measured, FINDINGS)
    value = 100 * next(row.value for row in measured.rows if (row.curve, row.x) == ("sure", 2.0))
    parts = [
        "# A toy\n", "Nobody (2020)", "Is a sure thing", "![Two flat lines.](../figures/toy_study.png)",
        f"1. Sure: {value:.1f}%.", "## What the paper says", "## What is asked here", "## Points", "## Losses",
        "## Run it", "python -m studies run toy-study\n", "## Notes\n\nSeed 0.",
    ]  # fmt: skip
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    lines = {line.split(" | ")[0].strip("| "): line for line in text.splitlines() if line.startswith("| ")}
    assert "| agrees | accuracy: a sure thing | 90.0% ± 5.0 | 4 of 4 |" in lines["A sure thing has 90%."]
    assert "| agrees | accuracy: a sure thing | > a coin | 4 of 4 |" in lines["It is ahead of a coin."]
    assert "| agrees in part | privacy loss: a coin at 1 | < 0.50 | 1.00 |" in lines["A coin loses little \\| often."]
    assert "| agrees | privacy loss: a sure thing at 2 | infinite | infinite |" in lines["It loses all."]
    assert "| not measured |" in lines["Nobody knows."]
    assert "| agrees | accuracy: a sure thing at 2 | > 10.0% |" in lines["It is worth having."]
    assert "| privacy loss | 1 | 2 | 4 | 8 |\n| --- | ---: | ---: | ---: | ---: |\n| a coin | 1.00 | 0.50" in text
    assert max(len(cell.split()) for line in text.splitlines() if line.startswith("| a coin |")
               for cell in line.strip("| ").split(" | ")[1:]) == 1  # fmt: skip


@pytest.mark.parametrize(
    ("reference", "shown"),
    [
        ('{{ at("coin", "loss", 4) }}', "0.25"),
        ('{{ over("coin", "loss").max }}', "1.00"),
        ('{{ over("co*", "loss").min }}', "0.12"),
        ('{{ over("*", "loss").count }}', "8"),
        ('{{ at("sure", "loss", 2) }}', "infinite"),
        ('{{ at("sure", "accuracy", 2).n }}', "4"),
        ('{{ at("sure",\n   "loss", 2).low }}', "infinite"),
        ("{{ grid }}", "full"),
    ],
)
def test_references(measured, reference, shown):
    """A reference stands for the number of its row, or of many."""
    assert quote_numbers(TOY, measured, reference) == shown


def test_an_interval_is_quoted(measured):
    """A value can be quoted with both ends, of which each can be quoted by itself."""
    whole = quote_numbers(TOY, measured, '{{ at("sure", "accuracy", 2).interval }}')
    value, low, high = (
        quote_numbers(TOY, measured, f'{{{{ at("sure", "accuracy", 2){end} }}}}') for end in ("", ".low", ".high")
    )
    assert whole == f"{value} ({low.removesuffix('%')} to {high.removesuffix('%')})"


@pytest.mark.parametrize(
    ("reference", "value"),
    [
        ('at("sure", "accuracy", 3)', "sure"),
        ('at("nobody", "accuracy")', "nobody"),
        ('at("sure", "nothing", 2)', "nothing"),
        ('at("sure", "loss", 2).odd', "odd"),
        ('over("nobody", "loss").max', "nobody"),
        ("word", "word"),
    ],
)
def test_references_to_nothing(measured, reference, value):
    """A number that was not measured is named in one line."""
    with refuses(value):
        quote_numbers(TOY, measured, f"{{{{ {reference} }}}}")


def test_a_figure_is_known_by_its_rows(measured, tmp_path):
    """A picture carries the fingerprint of what it was drawn from: other rows, panels or pixels are seen."""
    path = tmp_path / "toy.png"
    assert find_difference(TOY, measured, path) == "it is missing"
    path.write_bytes(draw_figure(describe_figure(TOY, measured)))
    assert find_difference(TOY, measured, path) is None
    first, *others = measured.rows
    rounded = [dataclasses.replace(first, value=first.value * (1 + 1e-9)), *others]
    assert find_difference(TOY, Results(tuple(rounded)), path) is None
    for rows in (others, [dataclasses.replace(first, value=0.8), *others]):
        assert find_difference(TOY, Results(tuple(rows)), path) == "it was drawn from other rows or panels"
    renamed = dataclasses.replace(TOY, curves={"sure": "certain", "coin": "a coin"})
    assert find_difference(renamed, measured, path) == "it was drawn from other rows or panels"
    with Image.open(path) as image:
        image.load()
        text = dict(image.text)
        image.putpixel((5, 5), (0, 0, 0))
        notes = __import__("PIL.PngImagePlugin").PngImagePlugin.PngInfo()
        for name, value in text.items():
            notes.add_text(name, value)
        image.save(path, pnginfo=notes)
    assert find_difference(TOY, measured, path) == "its pixels are not those that were drawn"
    path.write_bytes(b"text")
    assert find_difference(TOY, measured, path) == "it is no picture"


def test_what_is_drawn(measured):
    """Points stand at their places, those beyond an axis at its end, and a reference to nothing is left out."""
    description = describe_figure(TOY, measured)
    accuracy, loss, only = description["panels"]
    assert [series["label"] for series in accuracy["series"]] == ["a sure thing", "a coin", "paper"]
    assert accuracy["series"][2]["points"] == [[2.0, 75.0, 75.0, 75.0]]
    assert [line["place"] for line in accuracy["references"]] == pytest.approx([50, 40], abs=2)
    assert {point[1] for point in loss["series"][0]["points"]} == {5.0}
    assert [round(point[0]) for point in loss["series"][0]["points"]] == [90] * 4
    assert [point[0] for point in only["series"][0]["points"]] == [2.0]
    assert compute_fingerprint(description) == compute_fingerprint(describe_figure(TOY, measured))


def test_a_check_finds_what_does_not_follow(results, findings, tmp_path):
    """Page and figure that were just written follow from the rows; other findings, rows or pages do not."""
    assert len(check_page(TOY, results, tmp_path)) == 2
    page, figure = write_page(TOY, results, tmp_path)
    before = figure.read_bytes()
    assert check_page(TOY, results, tmp_path) == []
    findings.write_text(FINDINGS.replace("Sure", "Surely"))
    assert len(check_page(TOY, results, tmp_path)) == 1
    write_page(TOY, results, tmp_path)
    assert figure.read_bytes() == before
    page.write_text(page.read_text() + "More.\n")
    assert len(check_page(TOY, results, tmp_path)) == 1
    write_page(TOY, results, tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    kept = read_results(results, "toy_study")
    changed = [dataclasses.replace(row, value=row.value / 2) for row in kept.rows]
    write_results(TOY, other, dataclasses.replace(kept, rows=tuple(changed)))
    assert len(check_page(TOY, other, tmp_path)) == 2


@pytest.mark.usefixtures("findings")
def test_the_command_line(results, tmp_path, monkeypatch, capsys):
    """Studies are listed, run, and their pages written and checked; what fails is said in one line."""
    monkeypatch.setitem(studies.STUDIES, "toy-study", TOY)
    assert main(["list"]) == 0
    assert "toy-study           Is a sure thing better than a coin?" in capsys.readouterr().out
    place = ["--results", str(results), "--output", str(tmp_path)]
    assert main(["page", "toy_study", "--check", *place]) == 1
    assert main(["page", "toy_study", *place]) == 0
    assert main(["page", "toy-study", "--check", *place]) == 0
    assert main(["run", "toy-study", "--quick", "--seed", "5", "--output", str(tmp_path / "rows")]) == 0
    assert read_results(tmp_path / "rows", "toy_study").facts["grid"] == "quick"
    capsys.readouterr()
    assert main(["run", "toy-study", "--output", str(tmp_path / "rows")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    for arguments in (
        ["run", "nothing"],
        ["page"],
        ["page", "toy-study", "--all"],
        ["page", "toy-study", "--results", "x"],
    ):
        assert main(arguments) == 2
        assert capsys.readouterr().err.startswith("error: ")
    with pytest.raises(SystemExit) as stopped:
        main(["fly"])
    assert stopped.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("study", studies.STUDIES.values(), ids=lambda study: study.name)
def test_kept_rows_make_a_page_and_a_figure(study):
    """The rows of a full run that are kept give page and figure, and every statement was measured."""
    if not (pages.RESULTS / f"{study.stem}.csv").is_file():
        pytest.skip("no rows are kept")
    kept = read_results(pages.RESULTS, study.stem)
    assert kept.facts["grid"] == "full"
    text = build_page(study, kept, pages.read_findings(study))
    assert "not measured" not in text
    for statement in study.everything_judged:
        outcome, outcomes = statement.judge(every := (*kept.rows, *study.published)), statement.judge_rows(every)
        assert (outcome == "agrees in part") <= ("agrees" in outcomes), statement.text
    assert text.count("\n1. ") == 1
    series = [one for panel in describe_figure(study, kept)["panels"] for one in panel.get("series", ())]
    # A mark for what is refuted may have nothing to stand for.
    assert all(one["points"] for one in series if "lower bound" not in study.metrics or one["style"] != "^")
    assert {row.metric for row in kept.rows} <= set(study.metrics)
