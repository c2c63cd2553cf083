"""The routes of version 1, called in this process."""

import time

import pytest

import deniable as dn
from deniable.serve.catalogue import Catalogue
from deniable.serve.offers import RecordOffer, WordOffer
from deniable.serve.routes import _ENCODED_PIECES, MAX_SHOWN_CHARACTERS
from tests.serve.helpers import Client, assert_problem, build_choices
from tests.text.helpers import SPACE


def test_options():
    """The options say what is offered, the limits and the version."""
    options = Client().get("/v1/options").json()
    assert options["is_fixed"]
    assert (options["mechanisms"], options["epsilons"]) == (["tem"], [2.0])
    assert options["default"] == {"mechanism": "tem", "epsilon": 2.0}
    assert options["release"]["guarantee"]["kind"] == "MetricDP"
    assert options["limits"]["texts"] == 10_000
    assert options["deniable"] == dn.__version__
    assert options["shows_words"]
    choices = Client(build_choices()).get("/v1/options").json()
    assert (choices["is_fixed"], choices["epsilons"]) == (False, [1.0, 2.0, 3.0])


@pytest.mark.parametrize("options", [{"unknown": "mask"}, {"unknown": "drop"}, {"keep": ["food"]}])
def test_releases_whose_words_are_not_shown(options):
    """The options say that words cannot be shown, before a request asks for them and is refused."""
    offer = WordOffer(dn.Release(dn.TEM(SPACE, epsilon=2.0), **options))
    catalogue = Catalogue.fix(offer)
    catalogue.prepare(catalogue.default)
    client = Client(catalogue)
    assert not client.get("/v1/options").json()["shows_words"]
    assert_problem(client.post("/v1/privatize", {"texts": ["food"], "show": "words"}), 422)
    assert client.post("/v1/privatize", {"texts": ["food"]}).status_code == 200


def test_privatize():
    """Texts come back in order with what released them; null stays null, white space and punctuation stay."""
    answer = Client().post("/v1/privatize", {"texts": ["The food, zork!", None, ""]}).json()
    assert answer["texts"][1:] == [None, ""]
    words = answer["texts"][0].replace(",", "").replace("!", "").split()
    assert len(words) == 3
    assert set(words) <= {*SPACE.words}
    assert answer["texts"][0].endswith("!")
    assert answer["release"]["mechanism"] == "tem"
    assert answer["release"]["epsilon"] == 2.0
    assert answer["release"]["noise"] == "fresh"
    assert answer["release"]["unit"] == "word"
    assert "pieces" not in answer


def test_noise_is_fresh_for_every_request():
    """Equal texts in one request, in requests at once and in later ones come out differently."""
    client = Client()
    text = "food dog cat red blue good great bad paris tokyo " * 3
    body = {"texts": [text, text]}
    together = client.gather([("POST", "/v1/privatize", {"json": body})] * 4)
    answers = [*together, client.post("/v1/privatize", body)]
    texts = [one for answer in answers for one in answer.json()["texts"]]
    assert len({*texts}) == len(texts) == 10


def test_no_option_is_a_key():
    """A request cannot bring a key, a seed or ids."""
    for name in ("key", "seed", "ids"):
        assert_problem(Client().post("/v1/privatize", {"texts": ["food"], name: "1"}), 422)


def test_pieces():
    """With show each text comes also in pieces that join to it."""
    text = "The food, zork!"
    answer = Client().post("/v1/privatize", {"texts": [text, None, ""], "show": "words"}).json()
    pieces = answer["pieces"]
    assert pieces[1:] == [None, []]
    assert "".join(piece["original"] for piece in pieces[0]) == text
    assert "".join(piece["private"] for piece in pieces[0]) == answer["texts"][0]
    masked = Client(Catalogue.fix(WordOffer(dn.Release(dn.TEM(SPACE, epsilon=2.0), unknown="mask"))))
    masked.service.catalogue.prepare(masked.service.catalogue.default)
    assert "show" in assert_problem(masked.post("/v1/privatize", {"texts": ["food"], "show": "words"}), 422)


def test_many_pieces():
    """The pieces of a long text are encoded in parts, which make one list; too long a text is refused."""
    text = "food service " * (_ENCODED_PIECES + 1)
    answer = Client().post("/v1/privatize", {"texts": ["", text], "show": "words"}).json()
    assert "".join(piece["original"] for piece in answer["pieces"][1]) == text
    texts = ["a" * (MAX_SHOWN_CHARACTERS // 2), "a" * (MAX_SHOWN_CHARACTERS // 2 + 1)]
    detail = assert_problem(Client().post("/v1/privatize", {"texts": texts, "show": "words"}), 422)
    assert "1,000,000 characters are shown. Got 1,000,001" in detail


def test_a_fixed_release_is_not_changed():
    """Naming what is served is allowed, naming another is refused."""
    client = Client()
    assert client.post("/v1/privatize", {"texts": ["food"], "mechanism": "tem", "epsilon": 2}).status_code == 200
    for other in ({"mechanism": "calibrated"}, {"epsilon": 3}):
        assert_problem(client.post("/v1/privatize", {"texts": ["food"], **other}), 422)


def test_requests_choose():
    """A request's choice is what it gets, and each choice has counts of its own."""
    client = Client(build_choices())
    answer = client.post("/v1/privatize", {"texts": ["food dog"], "mechanism": "calibrated", "epsilon": 1}).json()
    assert (answer["release"]["mechanism"], answer["release"]["epsilon"]) == ("calibrated", 1.0)
    assert client.get("/v1/certificate?mechanism=calibrated&epsilon=1").json()["words"] == 2
    assert_problem(client.get("/v1/certificate?mechanism=tem&epsilon=9"), 422)


def test_a_certificate():
    """The certificate is one that the command line could have written, and counts what was released."""
    client = Client()
    before = client.get("/v1/certificate").json()
    client.post("/v1/privatize", {"texts": ["food dog", None]})
    certificate = client.get("/v1/certificate").json()
    assert certificate["schema"].startswith("deniable-certificate/")
    assert certificate["records"] == before["records"] + 2
    assert certificate["words"] == before["words"] + 2
    assert certificate["private"]
    assert certificate["verification"]["status"] == "proved"
    assert not {"changed", "unknown"} & {*certificate}


def test_proofs_are_not_started_by_requests(own_cache_folder):
    """A guarantee whose proof is not known is a conflict that says what to do; a known one is shown."""
    assert own_cache_folder.exists()
    catalogue = Catalogue.of_space(SPACE, ["tem"], [1.9], default=1.9)
    offer = catalogue.prepare(catalogue.default)
    client = Client(catalogue)
    for response in (client.post("/v1/verify", {}), client.get("/v1/certificate")):
        assert "--epsilon" in assert_problem(response, 409)
    offer.prove()
    answer = client.post("/v1/verify", {}).json()
    assert answer["verdict"]["status"] == "proved"
    assert client.get("/v1/certificate").status_code == 200


def test_explain():
    """A word's law comes with its release."""
    answer = Client().post("/v1/explain", {"word": "cat"}).json()
    assert answer["outputs"][0]["probability"] > 0
    assert answer["release"]["mechanism"] == "tem"
    assert_problem(Client().post("/v1/explain", {"word": ""}), 422)
    assert_problem(Client().post("/v1/explain", {"word": "x" * 201}), 422)
    assert_problem(Client().post("/v1/explain", {"word": "\ud800"}), 422)
    assert Client().post("/v1/explain", {"word": "\x00"}).json()["read_as"] == SPACE.unknown_word


def test_the_ladder_of_a_fixed_release():
    """A fixed release has one rung, which is ready."""
    ladder = Client().post("/v1/tune", {}).json()
    assert ladder["is_complete"]
    assert [rung["epsilon"] for rung in ladder["ladder"]] == [2.0]


def test_texts_that_are_rewritten():
    """A rewriting model is served by the same route; its unit is the record, and no word has a law."""
    pytest.importorskip("torch", reason="torch is not installed")
    from deniable.registry.methods import rewriting_method
    from tests.rewriting.untrained import untrained

    catalogue = Catalogue.fix(RecordOffer(rewriting_method("adept-true", untrained(), epsilon=5.0)))
    catalogue.prepare(catalogue.default)
    client = Client(catalogue)
    answer = client.post("/v1/privatize", {"texts": ["show me", None, ""]}).json()
    assert answer["texts"][1] is None
    assert answer["release"]["unit"] == "record"
    certificate = client.get("/v1/certificate").json()
    assert certificate["schema"].startswith("deniable-rewrite-certificate/")
    assert certificate["texts"] == 2
    assert client.post("/v1/verify", {}).json()["verdict"]["status"] == "proved"
    assert_problem(client.post("/v1/explain", {"word": "show"}), 422)
    assert_problem(client.post("/v1/privatize", {"texts": ["show"], "show": "words"}), 422)
    assert client.post("/v1/tune", {}).json()["ladder"][0]["state"] == "unavailable"


def test_many_texts():
    """Ten thousand texts are taken, and answered in order."""
    started = time.perf_counter()
    answer = Client().post("/v1/privatize", {"texts": ["food"] * 9_999 + [None]}).json()
    assert len(answer["texts"]) == 10_000
    assert answer["texts"][-1] is None
    assert time.perf_counter() - started < 30
