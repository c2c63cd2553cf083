"""The routes of version 1: texts, their pieces, laws, certificates, proofs and figures."""

import dataclasses
import re
import threading
from unittest import mock

import numpy as np
import pytest
from starlette.testclient import TestClient

import deniable as dn
from tests.serve.helpers import SECRET, SPACE, STEPS, assert_problem, serve


def test_options(fixed, choices):
    """The options say what is offered, the limits and the version."""
    options = fixed.get("/v1/options").json()
    assert (options["is_fixed"], options["mechanisms"], options["epsilons"]) == (True, ["tem"], [2.0])
    assert options["default"] == {"mechanism": "tem", "epsilon": 2.0}
    assert options["release"]["guarantee"]["kind"] == "MetricDP"
    assert (options["limits"]["texts"], options["limits"]["body_bytes"]) == (10_000, 4 << 20)
    assert (options["deniable"], options["budget"], options["shows_words"]) == (dn.__version__, None, True)
    chosen = choices.get("/v1/options").json()
    assert (chosen["is_fixed"], chosen["mechanisms"]) == (False, ["calibrated", "tem", "tight"])
    epsilons = chosen["epsilons"]
    assert epsilons == sorted({*epsilons})
    assert 0 < epsilons[0] < len(epsilons) < 20
    assert chosen["default"] == {"mechanism": "calibrated", "epsilon": epsilons[0]}  # the strongest


def test_limits_of_an_operator(tem):
    """What is chosen is taken; bodies of any size leave room for several, and the rest stays as it is."""
    client = serve(*tem, "--max-body", "1024", "--max-texts", "5", "--max-waiting", "2", "--time-limit", "7")
    limits = client.get("/v1/options").json()["limits"]
    assert (limits["body_bytes"], limits["texts"], limits["waiting"], limits["work_seconds"]) == (1 << 30, 5, 2, 7)
    assert limits["pending_bytes"] == 4 << 30
    assert_problem(client.privatize(["a"] * 6), 422)


def test_privatize(fixed):
    """Texts come back in order with what released them; null stays null, white space and punctuation stay."""
    answer = fixed.privatize(["The food, zork!", None, ""]).json()
    assert answer["texts"][1:] == [None, ""]
    words = answer["texts"][0].replace(",", "").replace("!", "").split()
    assert len(words) == 3
    assert set(words) <= {*SPACE.words}
    assert answer["texts"][0].endswith("!")
    release = answer["release"]
    assert [release[name] for name in ("mechanism", "epsilon", "noise", "unit")] == ["tem", 2.0, "fresh", "word"]
    assert "pieces" not in answer


def test_noise_is_fresh_for_every_request(fixed):
    """Equal texts in one request, in requests at once and in later ones come out differently."""
    text = "food dog cat red blue good great bad paris tokyo " * 3
    together = fixed.gather([("POST", "/v1/privatize", {"json": {"texts": [text, text]}})] * 4)
    answers = [*together, fixed.privatize([text, text])]
    texts = [one for answer in answers for one in answer.json()["texts"]]
    assert len({*texts}) == len(texts) == 10


def is_drawn_from(words, law):
    """Say whether words are draws from a law, by a chi-square of every output that is expected at least five times."""
    expected = {word: share * len(words) for word, share in law.items()}
    likely = [word for word, count in expected.items() if count >= 5]
    spread = sum((words.count(word) - expected[word]) ** 2 / expected[word] for word in likely)
    return spread < len(likely) + 5 * np.sqrt(2 * len(likely))


def test_draws_follow_the_law(fixed):
    """A word comes out as often as the law says that the service tells, which is the mechanism's, and no other law."""
    answer = fixed.post("/v1/explain", {"word": "Cat"}).json()
    assert (answer["read_as"], answer["is_known"], answer["hidden_class"], answer["draws"]) == ("cat", True, None, 0)
    law = {one["word"]: one["probability"] for one in answer["outputs"]}
    true = dn.TEM(STEPS, epsilon=2.0).probabilities("cat")
    assert law == pytest.approx(dict(zip(SPACE.words, true, strict=True)))
    assert list(law.values()) == sorted(law.values(), reverse=True)
    assert (answer["kept"], answer["outputs"][0]["distance"]) == (law["cat"], 0)
    assert "the best guess" in answer["attacker"]
    shares, outcomes = dn.TEM(STEPS, epsilon=2.0).word_shares(), dn.TEM(STEPS, epsilon=2.0).outcomes()
    assert answer["guessed"] == shares.guessed[SPACE.index_of("cat")]
    assert (answer["rank"], answer["band"]["name"]) == (SPACE.index_of("cat") + 1, outcomes.bands[0].name)
    assert answer["outcomes"]["most_exposed"] == outcomes.describe_exposed()
    assert answer["release"]["mechanism"] == "tem"
    drawn = fixed.privatize([None, *["cat"] * 9_998, ""]).json()["texts"]
    assert (len(drawn), drawn.pop(0), drawn.pop()) == (10_000, None, "")
    assert is_drawn_from(drawn, law)
    off = {
        word: share * (0.7 if word == "cat" else (1 - 0.7 * law["cat"]) / (1 - law["cat"]))
        for word, share in law.items()
    }
    assert not is_drawn_from(drawn, off)


@pytest.mark.deep
def test_a_law_that_nobody_knows(words):
    """Where no law is known the shares of draws are given, and their number."""
    client = serve(*words, "--metric", "euclidean", "--mechanism", "multivariate-laplace", "--epsilon", "2")
    assert client.post("/v1/explain", {"word": "\x00"}).json()["read_as"] == SPACE.unknown_word
    answer = client.post("/v1/explain", {"word": "cat"}).json()
    assert answer["draws"] == 20_000
    assert answer["guessed"] is answer["rank"] is answer["band"] is answer["outcomes"] is None
    assert sum(one["probability"] for one in answer["outputs"]) == pytest.approx(1)


TEXTS = [
    "The food, zork!",
    "",
    "zork don't  do|n't",
    "  ",
    "...",
    "😀food\ud800 FOOD-food 12 o'clock's",
    None,
    "a" * 50,
]


@pytest.mark.parametrize("case", ["lower", "copy"])
def test_pieces_join_to_both_texts(fixed, tem, case):
    """With show each text comes also in pieces: originals joined are the text, private ones what was released."""
    client = fixed if case == "lower" else serve(*tem, "--case", case)
    for _ in range(10):
        answer = client.privatize(TEXTS, show="words").json()
        for text, released, pieces in zip(TEXTS, answer["texts"], answer["pieces"], strict=True):
            if not text:
                assert (released, pieces) == (text, None if text is None else [])
                continue
            assert "".join(piece["original"] for piece in pieces) == text
            assert "".join(piece["private"] for piece in pieces) == released


def test_many_pieces(fixed):
    """The pieces of a long text make one list; too long a text is refused."""
    text = "food service " * 1_001
    answer = fixed.privatize(["", text], show="words").json()
    assert "".join(piece["original"] for piece in answer["pieces"][1]) == text
    detail = assert_problem(fixed.privatize(["a" * 100_000, "a" * 100_001], show="words"), 422)
    assert "200,001" in detail


def test_what_became_of_words(tmp_path):
    """A word is kept or changed, unknown, or one of a hidden class, which is one output."""
    np.savez(tmp_path / "s.npz", words=np.array(["bad", "good", "mary", "ann"]), vectors=[[0.0], [1.0], [5.0], [6.0]])
    client = serve("--space", tmp_path / "s.npz", "--hide", "names", "--mechanism", "tem", "--epsilon", "50")
    pieces = client.privatize(["good zork Mary"], show="words").json()["pieces"][0]
    kinds = {piece["original"]: piece for piece in pieces}
    assert [kinds[word]["kind"] for word in ("good", "zork", "Mary", " ")] == ["kept", "unknown", "hidden", "between"]
    assert kinds["Mary"]["class"] == "names"
    unknown = client.post("/v1/explain", {"word": "zork"}).json()
    assert (unknown["is_known"], unknown["read_as"] in {"bad", "good"}) == (False, True)
    hidden = client.post("/v1/explain", {"word": "mary"}).json()
    assert (hidden["hidden_class"], hidden["class_size"]) == ("names", 2)
    assert [one["hidden_class"] for one in hidden["outputs"]].count("names") == 1
    assert sum(one["probability"] for one in hidden["outputs"]) == pytest.approx(1)


@pytest.mark.parametrize("options", [("--unknown", "mask"), ("--keep", "keep.txt")])
def test_releases_whose_words_are_not_shown(tem, tmp_path, monkeypatch, options):
    """Where words do not stand for one another the options say so, and a request to show them is refused."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "keep.txt").write_text("food\n")
    client = serve(*tem, *options)
    assert not client.get("/v1/options").json()["shows_words"]
    assert_problem(client.privatize(["food"], show="words"), 422)
    assert client.privatize(["food zork"]).status_code == 200


def test_requests_choose(choices, fixed, words):
    """A choice is what a request gets, with the operator's options and counts of its own; no other is offered."""
    answer = choices.privatize(["food dog"], mechanism="tem", epsilon=1).json()
    assert (answer["release"]["mechanism"], answer["release"]["epsilon"]) == ("tem", 1.0)
    for wrong in ({"epsilon": 2.25}, {"epsilon": -1}, {"mechanism": "multivariate-laplace"}):
        assert_problem(choices.privatize(["food"], **wrong), 422)
    assert_problem(choices.get("/v1/certificate?mechanism=tem&epsilon=9"), 422)
    masked = serve(*words, "--unknown", "mask")
    assert masked.privatize(["zork"], mechanism="tem", epsilon=1).json()["texts"][0] not in SPACE.words
    assert fixed.privatize(["food"], mechanism="tem", epsilon=2).status_code == 200
    for other in ({"mechanism": "calibrated"}, {"epsilon": 3}):
        assert_problem(fixed.privatize(["food"], **other), 422)


def test_a_certificate(fixed):
    """The certificate is one that the command line could have written, and counts what was released, no more."""
    before = fixed.get("/v1/certificate").json()
    fixed.privatize(["food dog", None])
    fixed.privatize(["the dog was zork", "cat"])
    certificate = fixed.get("/v1/certificate").json()
    assert certificate["schema"].startswith("deniable-certificate/")
    assert (certificate["records"] - before["records"], certificate["words"] - before["words"]) == (4, 7)
    assert certificate["noise"].startswith("fresh noise")
    assert certificate["private"]
    assert certificate["verification"]["status"] == "proved"
    assert not {"changed", "unknown"} & {*certificate}


@pytest.mark.usefixtures("own_cache_folder")
@pytest.mark.parametrize("metric", ["steps", "euclidean"])
def test_a_proof_is_there_before_it_is_asked_for(words, metric):
    """What a request for the verdict needs was computed when the service started: it is shown at once."""
    client = serve(*words, "--metric", metric, "--mechanism", "tem")
    with mock.patch("deniable.words.laws.exponential.take_census", side_effect=AssertionError):
        answer = client.post("/v1/verify", {}).json()
    assert (answer["verdict"]["status"], answer["release"]["guarantee"]["status"]) == ("proved", "proved")
    assert client.get("/v1/certificate").status_code == 200


def test_the_ladder(tmp_path, fixed):
    """Asking starts the rungs in the background; a rung that cannot be had says why, and is refused with the reason."""
    ladder = fixed.post("/v1/tune", {}).json()
    assert ladder["is_complete"]
    assert [(rung["epsilon"], rung["state"]) for rung in ladder["ladder"]] == [(2.0, "ready")]
    assert 0 < ladder["ladder"][0]["kept"] <= ladder["ladder"][0]["recovery"] < 1
    outcomes = dn.TEM(STEPS, epsilon=2.0).outcomes()
    assert ladder["ladder"][0]["outcomes"] == {
        **dataclasses.asdict(outcomes),
        "bands": [dataclasses.asdict(band) for band in outcomes.bands],
        "by_frequency": outcomes.describe_bands(),
        "most_exposed": outcomes.describe_exposed(),
    }
    np.savez(tmp_path / "s.npz", words=np.array(["bad", "good", "dog"]), vectors=[[0.0], [4.0], [8.0]])
    client = serve(
        "--space", tmp_path / "s.npz", "--hide", "none", "--metric", "euclidean", "--mechanism", "truncated-gumbel"
    )
    with TestClient(client.app, base_url="http://localhost") as running:  # one event loop for several requests
        first = running.post("/v1/tune", json={}).json()
        assert not first["is_complete"]
        assert "computing" in {rung["state"] for rung in first["ladder"]}
        while not (last := running.post("/v1/tune", json={}).json())["is_complete"]:
            pass
    states = [rung["state"] for rung in last["ladder"]]
    assert states == sorted(states, reverse=True)
    assert {*states} == {"unavailable", "ready"}
    assert "epsilon" in last["ladder"][0]["reason"]
    assert_problem(client.privatize(["food"], epsilon=last["ladder"][0]["epsilon"]), 422)


def test_texts_that_are_rewritten(rewriting):
    """A rewriting model is served by the same routes; its unit is the record, and no word has a law."""
    answer = rewriting.privatize(["show me", None, "", "to " * 100, "\ud800"]).json()
    assert [text is None for text in answer["texts"]] == [False, True, False, False, False]
    assert (answer["release"]["unit"], answer["release"]["epsilon"]) == ("record", 5.0)
    certificate = rewriting.get("/v1/certificate").json()
    assert certificate["schema"].startswith("deniable-rewrite-certificate/")
    assert (certificate["records"], certificate["texts"]) == (5, 4)
    assert rewriting.post("/v1/verify", {}).json()["verdict"]["status"] == "proved"
    assert rewriting.post("/v1/tune", {}).json()["ladder"][0]["state"] == "unavailable"
    for path, body in (
        ("/v1/explain", {"word": "show"}),
        ("/v1/privatize", {"texts": ["show"], "show": "words"}),
        ("/v1/measure", {"texts": ["show"]}),
    ):
        assert_problem(rewriting.post(path, body), 422)


def test_short_texts_do_not_wait_for_long_ones(tem):
    """While a long text is worked on, a short one is answered."""
    client = serve(*tem)
    catalogue = client.app.state.service.catalogue
    offer = catalogue.get(catalogue.default)
    release, privatize, order = threading.Event(), offer.privatize, []

    def watch(texts):
        if len(texts[0]) > 4_000:
            assert release.wait(120)
        order.append(len(texts[0]))
        if texts[0] == "food":
            release.set()
        return privatize(texts)

    offer.privatize = watch
    bodies = [{"json": {"texts": [text]}} for text in ("a " * 4_000, "food")]
    answers = client.gather([("POST", "/v1/privatize", body) for body in bodies])
    assert [answer.status_code for answer in answers] == [200, 200]
    assert order == [4, 8_000]


def test_figures_show_nothing_of_a_request(tem):
    """What is counted is route, method and status: not what a client makes up, nor how much of it."""
    figures = set()
    for texts in (["food"], ["food dog cat " * 500], ["a", None, SECRET] * 300):
        client = serve(*tem)
        client.get(f"/{texts[-1][:9]}?{SECRET}")
        client.request(SECRET.upper(), "/v1/health")
        assert client.privatize(texts).status_code == client.privatize(texts).status_code == 200
        figures.add(client.get("/v1/metrics").text)
    (text,) = figures
    assert SECRET not in text.lower()
    assert '{method="GET",route="other",status="404"} 1.0' in text
    assert 'deniable_requests_total{method="POST",route="/v1/privatize",status="200"} 2.0' in text
    assert "deniable_pending_bytes 0.0\n" in text


def test_pending_bytes_are_bounded_and_coarse(tem):
    """Bytes that wait show in whole megabytes; beyond the bound a body is refused for now, and its bytes given back."""
    client = serve(*tem)
    service = client.app.state.service
    for pending, shown in ((1, 1), (1 << 20, 1), (5_000_000, 5)):
        service.pending_bytes = pending
        line = re.search(r"^deniable_pending_bytes (\S+)$", client.get("/v1/metrics").text, re.MULTILINE)
        assert float(line[1]) == shown << 20
    service.pending_bytes = limit = client.get("/v1/options").json()["limits"]["pending_bytes"]
    response = client.privatize(["a"])
    assert_problem(response, 503)
    assert response.headers["retry-after"]
    assert service.pending_bytes == limit


def test_what_is_published_about_the_service(fixed):
    """openapi.json names every path, with a body for every POST; what else is asked for shows in no answer."""
    paths = fixed.get("/openapi.json").json()["paths"]
    names = ("health", "options", "metrics", "certificate", "privatize", "explain", "tune", "verify")
    assert {*paths} >= {f"/v1/{name}" for name in names}
    assert all("requestBody" in methods["post"] for methods in paths.values() if "post" in methods)
    for path in ("/docs", "/redoc", "/v1/", "/static/", f"/{SECRET}"):
        assert_problem(fixed.get(path), 404)
    assert_problem(fixed.get("/v1/privatize"), 405)
    assert_problem(fixed.request("BREW", "/v1/health"), 405)
    assert "epsilon" in assert_problem(fixed.get(f"/v1/certificate?epsilon={SECRET}"), 422)
