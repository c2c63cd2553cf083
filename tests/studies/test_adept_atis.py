"""The study of ADePT on ATIS from end to end, on small tables of flight enquiries."""

import dataclasses
import json
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable.core.errors import InputError
from deniable.core.parallel import report_progress_to
from deniable.rewriting.attacks.success import compute_max_success
from deniable.studies import Setting, adept_atis, conduct
from deniable.studies.adept_atis import FULL, QUICK, STUDY
from deniable.studies.rewriting import bench, measuring
from deniable.studies.rewriting.plan import PUBLISHED, TITLES, TOKENS
from deniable.studies.rewriting.series import cells, methods, top
from tests.studies.sizes import ATIS as SIZES

FEW = dataclasses.replace(SIZES, epsilons=(1.0,), methods=(PUBLISHED, TOKENS), inverted=())


@pytest.fixture(scope="module")
def reported(study_data, tmp_path_factory):
    """Return the report of a tiny run, and what was told of progress."""
    seen = []
    with report_progress_to(lambda done, total: seen.append((done, total))):
        return conduct(STUDY, tmp_path_factory.mktemp("out"), Setting(0, study_data), sizes=SIZES), seen


def test_files_and_progress(reported):
    """The three files alone are left; progress is told of the training, then of all parts."""
    report, seen = reported
    assert sorted(path.name for path in report.table.parent.iterdir()) == [
        f"adept-atis.{e}" for e in ("json", "md", "png")
    ]
    numbers = json.loads(report.numbers.read_text())
    assert len(numbers["table"]) == len(report.result.table) == 8
    steps = seen[0][1]
    parts = seen[seen.index((0, seen[-1][1])) :]
    assert [done for done, _ in seen[: -len(parts)]] == list(range(steps + 1))
    assert [done for done, _ in parts] == list(range(parts[-1][1] + 1))


def test_every_method_at_every_epsilon(reported):
    """All methods are measured and attacked, those with vectors from these too; shares lie in their intervals."""
    data = reported[0].result.data
    assert methods(data) == list(TITLES)
    (model,) = data["models"]
    for method in TITLES:
        assert [cell["epsilon"] for cell in cells(data, method)] == list(SIZES.epsilons)
        for cell in cells(data, method):
            assert ("vector" in cell) == (method != TOKENS)
            assert 0 <= cell["bleu"] <= 100
            for found in (*cell.get("vector", ()), *cell["text"], cell["accuracy"], cell["exact"]):
                assert 0 <= found["low"] <= found["value"] <= found["high"] <= 1
            for found in cell["text"]:
                permitted = compute_max_success(
                    model["candidates"], cell["epsilon"], delta=cell["delta"], first=found["first"]
                )
                assert found["permitted"] == permitted
                assert found["refuted"] == (found["least"] > cell["epsilon"])
    assert top(cells(data, PUBLISHED)[0], "vector", 1)["count"] == SIZES.releases
    assert top(cells(data, PUBLISHED)[1], "vector", 1)["count"] == SIZES.beyond
    # With next to no noise whoever sees the vector knows the text.
    assert top(cells(data, PUBLISHED)[1], "vector", 1)["value"] > 0.9


def test_sensitivities(reported):
    """Only published ADePT has pairs beyond what its noise is for; losses lie below those of the worst two vectors."""
    data = reported[0].result.data
    for found in data["distances"]:
        assert (found["beyond"] > 0) == (found["ratio"] > 1) == (found["method"] == PUBLISHED)
    assert [found["n"] for found in data["grown"]] == [4, 8]
    for found in data["grown"]:
        assert found["bound"] <= found["loss"] <= found["exact"] == pytest.approx(found["n"] ** 0.5, rel=1e-6)
    assert [(row["method"], row["seen"]) for row in data["audits"][:3]] == [
        (PUBLISHED, seen) for seen in ("vector", "likelihood", "text")
    ]
    assert not any(row["status"] == "refuted" for row in data["audits"][3:])


def test_attacks_beyond_the_corpus(reported):
    """Proposals and inversion are attacks on test texts; what is named must be among the guesses."""
    data = reported[0].result.data
    for found in data["proposals"]:
        assert found["guesses"] > SIZES.proposals
        assert all(point["exact"]["value"] <= found["reached"]["value"] for point in found["points"])
    for kind in ("inversions", "tuned"):
        assert [(row["method"], row["epsilon"]) for row in data[kind]] == [
            (PUBLISHED, 1000.0), ("adept-gaussian", 1000.0),
        ]  # fmt: skip
    for row in data["inversions"]:
        assert row["public"]["tokens"]["count"] == row["trained"]["tokens"]["count"] > SIZES.searched
        assert row["started"]["exact"]["count"] == row["searched"]["exact"]["count"] == SIZES.searched


def test_going_on(study_data, tmp_path, monkeypatch):
    """A run stopped in the middle keeps its model and its parts, and goes on to the same numbers."""
    whole = conduct(STUDY, tmp_path / "whole", Setting(3, study_data), sizes=FEW).result
    cell, trained = measuring.cell, bench.fit_rewriter

    def stop(held, name, epsilon):
        if name == TOKENS:
            raise KeyboardInterrupt
        return cell(held, name, epsilon)

    monkeypatch.setattr(measuring, "cell", stop)
    with pytest.raises(KeyboardInterrupt):
        conduct(STUDY, tmp_path / "out", Setting(3, study_data), sizes=FEW)
    monkeypatch.setattr(measuring, "cell", cell)
    kept = sorted(path.name.split(".")[-1] for path in (tmp_path / "out").iterdir())
    assert kept == ["jsonl", "model", "model"]  # of both dimensions
    monkeypatch.setattr(bench, "fit_rewriter", lambda *_, **__: pytest.fail("trained again"))
    assert conduct(STUDY, tmp_path / "out", Setting(3, study_data), sizes=FEW).result == whole
    assert len([*(tmp_path / "out").iterdir()]) == 3
    monkeypatch.setattr(bench, "fit_rewriter", trained)


def test_a_model_cut_short(study_data, tmp_path, monkeypatch):
    """A kept model that is damaged is trained again."""

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(measuring, "undisturbed", stop)
    with pytest.raises(KeyboardInterrupt):
        conduct(STUDY, tmp_path, Setting(3, study_data), sizes=FEW)
    (kept,) = tmp_path.glob("*.model")
    kept.write_bytes(kept.read_bytes()[:100])
    with pytest.raises(KeyboardInterrupt):
        conduct(STUDY, tmp_path, Setting(3, study_data), sizes=FEW)
    assert kept.stat().st_size > 100


def test_what_it_needs(study_data, tmp_path, monkeypatch):
    """Without data, a column or torch it says what is missing, before anything is computed."""
    with pytest.raises(InputError, match=r"atis_train\.parquet"):
        adept_atis.run(SIZES, Setting(0))
    for split in ("train", "dev", "test"):
        table = pq.read_table(study_data / f"atis_{split}.parquet")
        pq.write_table(table.drop(["intent"]), tmp_path / f"atis_{split}.parquet")
    with pytest.raises(InputError, match="no column 'intent': it has text"):
        adept_atis.run(SIZES, Setting(0, tmp_path))
    pq.write_table(pa.table({"text": ["", None], "intent": ["a", "b"]}), tmp_path / "atis_train.parquet")
    with pytest.raises(InputError, match="holds no text"):
        adept_atis.run(SIZES, Setting(0, tmp_path))
    monkeypatch.setattr(adept_atis, "find_spec", lambda _: None)
    with pytest.raises(InputError, match=r"install deniable\[train\]"):
        adept_atis.run(SIZES, Setting(0, study_data))


def test_sizes_and_cost_of_the_list():
    """The quick run has the same methods; studies are listed without loading torch."""
    assert QUICK.methods == FULL.methods
    assert 32 in {*FULL.latents, FULL.latent}
    assert FULL.attacked(3.0, 5_000) == FULL.releases
    assert FULL.attacked(10.0, 5_000) == FULL.beyond
    code = "import sys, deniable.studies; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
