"""Whole tables rewritten: what is kept, what shows, what the certificate says, and what is refused."""

import csv
import io
import json
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

import deniable as dn
from deniable.rewriting.table import make_method_cost
from tests.commands import run
from tests.refusals import refuses
from tests.rewriting.untrained import FACTS, untrained

MODEL = untrained()
VectorMethod = type(dn.rewriting_method("adept-true", MODEL, epsilon=1.0))
WITH_DELTA = "adept-gaussian"
REFUTED = ("adept", "dptext")
VECTOR = ("adept-true", "adept-norm", "adept-l1", WITH_DELTA, "dptext-fixed", "dptext-norm")
METHODS = (*VECTOR, "tokens", "tokens-mixed", *REFUTED)
FIELDS = (
    "schema deniable private mechanism guarantee verification noise arithmetic steps meaning records not_protected "
    "chosen row model texts"
)


@pytest.fixture
def rewrite(tmp_path, monkeypatch):
    """Return a function that rewrites a table, and returns the new one and its certificate."""
    monkeypatch.chdir(tmp_path)

    def rewriting(data, *options, kind="csv", method="adept-true", model=MODEL):
        dn.texts.save_model(model, tmp_path / "m.pt", force=True)
        (tmp_path / f"in.{kind}").write_bytes(data)
        delta = ("--delta", "1e-5") if method == WITH_DELTA else ("--allow-refuted",) * (method in REFUTED)
        given = ("--epsilon", "5", "--method", method, "--output", f"out.{kind}", "--force", *delta, *options)
        result = run("rewrite", "m.pt", f"in.{kind}", *given)
        rewriting.err = result.err
        if result.code:
            raise dn.InputError(result.err.strip())
        text = (tmp_path / f"out.{kind}.certificate.json").read_text("utf-8")
        rewriting.text = text
        return (tmp_path / f"out.{kind}").read_bytes(), json.loads(text)

    return rewriting


@pytest.fixture
def seen(monkeypatch):
    """Return what texts are encoded as; what is decoded is always the same text, ``seen.new``."""

    class Seen(list):
        new = "please"

    noted, encode = Seen(), dn.rewriting.Rewriter.encode
    monkeypatch.setattr(dn.rewriting.Rewriter, "encode", lambda self, texts: noted.extend(texts) or encode(self, texts))
    monkeypatch.setattr(dn.rewriting.Rewriter, "decode", lambda _, vectors: [noted.new] * len(vectors))
    return noted


def parquet(**columns):
    """Return a parquet file."""
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


EMPTY = {
    "csv": (b'text,id\nshow me,1\n,2\n"",3\n"show, me",4\n', b"text,id\nplease,1\nplease,2\nplease,3\nplease,4\n"),
    "tsv": (b"id\ttext\n1\t\n2\tshow\n", b"id\ttext\n1\tplease\n2\tplease\n"),
    "jsonl": (b'{"text":""}\n{"text":"show"}\n', b'{"text":"please"}\n{"text":"please"}\n'),
    "txt": (b"show\n\n  \n\nme", b"please\nplease\nplease\nplease\nplease"),
}


@pytest.mark.parametrize("kind", EMPTY)
def test_an_empty_text_does_not_show(rewrite, seen, kind):
    """What stands where a text was empty is what would stand there for any other text, byte for byte."""
    before, after = EMPTY[kind]
    out, made = rewrite(before, kind=kind)
    assert out == after
    assert "" in seen
    assert made["texts"] == made["records"] == len(seen)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "txt"])
def test_an_empty_new_text_does_not_show_either(rewrite, seen, kind):
    """Where all new texts are empty, quotes and blanks of the private ones leave no trace."""
    before = {"csv": b'text,id\n"",1\n,1\n"a,b",1\n', "jsonl": b'{"text":"\\u0061"}\n{"text":""}\n', "txt": b" \n\na\n"}
    seen.new = ""
    lines = rewrite(before[kind], kind=kind)[0].decode().splitlines()[kind == "csv" :]
    assert len({*lines}) == 1


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_tables_of_one_column_lose_no_record(rewrite, seen, end):
    """A blank line of one column is an empty text, and a row stays where the new text is empty."""
    out, made = rewrite(end.join([b"text", b"show", b"", b"me", b"", b""]))
    assert out == end.join([b"text", b"please", b"please", b"please", b"please", b""])
    assert (made["records"], made["texts"]) == (4, 4)
    out, made = rewrite(end.join([b"text,id", b"show,1", b"", b"me,2", b""]))
    assert out == end.join([b"text,id", b"please,1", b"", b"please,2", b""])
    assert made["records"] == 2
    seen.new = ""
    assert rewrite(end.join([b"text", b"show", b'""', b""]))[0] == end.join([b"text", b'""', b'""', b""])


def test_null_stays_null(rewrite, seen):
    """Null is no text: it stays, is not counted, and the certificate says that it shows."""
    del seen
    out, made = rewrite(parquet(text=["show", None, ""], n=[1, 2, 3]), kind="parquet")
    table = pq.read_table(io.BytesIO(out))
    assert table.column("text").to_pylist() == ["please", None, "please"]
    assert table.column("n").to_pylist() == [1, 2, 3]
    assert (made["records"], made["texts"]) == (3, 2)
    assert "null" in made["not_protected"][0]
    out, made = rewrite(b'{"text":null}\n{"text":"show"}\n', kind="jsonl")
    assert out == b'{"text":null}\n{"text":"please"}\n'
    assert (made["records"], made["texts"]) == (2, 1)
    assert "null" not in rewrite(b"text\nshow\n")[1]["not_protected"][0]


def test_other_columns_are_copied(rewrite, seen):
    """Every byte outside of the texts is kept, several columns are rewritten, and the certificate counts them."""
    seen.new = "all"
    data = b'id,a,note,b\r\n"007",show me,"x ""y""",from boston\r\n8,to,,denver\r\n'
    out, made = rewrite(data, "--column", "a", "--column", "b", method=WITH_DELTA)
    assert out == b'id,a,note,b\r\n"007",all,"x ""y""",all\r\n8,all,,all\r\n'
    assert (made["records"], made["texts"]) == (2, 4)
    assert made["row"] == {"texts": 2, "epsilon": 10.0, "delta": 2e-5}
    assert made["not_protected"][1] == "the columns copied unchanged: 'id', 'note'"
    wide = ",".join(["text", *(f"c{i}" for i in range(1000))])
    named = rewrite(f"{wide}\n{wide}\n".encode())[1]["not_protected"][1]
    assert named.endswith("'c19' and 980 more")


@pytest.mark.parametrize("new", ['say "show", me', "a\nb", "é✓", "\ud800x"])
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "txt"])
def test_any_new_text_can_be_written(rewrite, seen, kind, new):
    """Quotes and delimiters of a new text come back, half characters as question marks, line ends as spaces."""
    seen.new = new
    data = {
        "csv": b"text,n\nshow,1\n",
        "jsonl": b'{"text":"show"}\n',
        "parquet": parquet(text=["show"]),
        "txt": b"show\n",
    }
    out, _ = rewrite(data[kind], kind=kind)
    read = {
        "parquet": lambda: pq.read_table(io.BytesIO(out))["text"].to_pylist()[0],
        "jsonl": lambda: json.loads(out)["text"],
        "csv": lambda: next(csv.DictReader(io.StringIO(out.decode(), newline="")))["text"],
        "txt": lambda: out.decode()[:-1],
    }
    assert read[kind]() == new.replace("\ud800", "?").replace("\n", " ")


def test_a_key_twice(rewrite, tmp_path):
    """A JSON object with two texts under one key would spend more than the certificate says: its line is refused."""
    with refuses("line 2"):
        rewrite(b'{"text":"show"}\n{"text":"show","text":"me"}\n', kind="jsonl")
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize("method", ["adept-true", "tokens"])
def test_of_long_texts_the_first_tokens_enter(rewrite, seen, method):
    """A text beyond the model's limit enters as its first tokens, which shows neither in table nor in certificate."""
    texts = ["show", "", "to " * 13, " ".join(["flights"] * 12), "a, b " * 400, "don't " * 40]
    entering = ["show", "", " ".join(["to"] * 12), " ".join(["flights"] * 12), "a, b" + " a, b" * 3]
    out, made = rewrite(b"text,other\n" + "".join(f'"{text}",x\n' for text in texts).encode(), method=method)
    assert out.count(b"\n") == 7
    assert "rows 3, 5" in rewrite.err  # for the owner only
    assert seen[:5] == entering
    assert len(MODEL.vocabulary.to_ids(seen[5])) <= MODEL.limit == 12
    assert made == rewrite(b"text,other\n" + b"show,x\n" * 6, method=method)[1]
    assert "first 12 tokens" in made["guarantee"]["of"]


@pytest.mark.parametrize("records", [0, 1, 2500])
def test_tables_of_any_size(rewrite, records):
    """A header alone, one record, and more than are rewritten at a time are tables too."""
    out, made = rewrite(b"text,id\n" + b"show,1\n" * records)
    assert out.count(b"\n") == records + 1
    assert (made["records"], made["texts"]) == (records, records)


@pytest.mark.parametrize("name", METHODS)
def test_the_certificate_of_every_method(rewrite, name):
    """It is strict JSON with the fields of its schema, in order; guarantee and verdict are the method's own."""
    _, made = rewrite(b"text\nshow\nme\n\n", method=name)
    assert rewrite.text.endswith("}\n")
    json.loads(rewrite.text, parse_constant=pytest.fail)
    assert " ".join(made) == FIELDS
    assert (made["row"] is None) == (name in REFUTED)
    assert (made["deniable"], made["records"], made["texts"]) == (dn.__version__, 3, 3)
    delta = {"delta": 1e-5} if name == WITH_DELTA else {}
    method = dn.rewriting_method(name, MODEL, epsilon=5.0, **delta)
    assert made["mechanism"] == {"name": name, **method.parameters}
    assert {key: value for key, value in made["guarantee"].items() if key != "of"} == method.guarantee.to_dict()
    assert made["guarantee"]["kind"] == ("ApproxDP" if name == WITH_DELTA else "PureDP")
    verdict = method.verify().to_dict()
    assert made["verification"] == {key: value for key, value in verdict.items() if key != "seconds"}
    assert made["private"] is (name not in REFUTED)
    if name in REFUTED:
        assert made["guarantee"]["status"] == "refuted"
        assert made["verification"]["lower_bound"] == ("inf" if name == "dptext" else pytest.approx(5 * math.sqrt(8)))
        assert "up to" not in "".join(made["meaning"])
        assert "not private" in made["meaning"][1]
    else:
        assert "a factor of up to 149" in made["meaning"][0]  # just above e^5
        assert ("delta 1e-05" in made["meaning"][0]) == (name == WITH_DELTA)
        assert made["row"]["epsilon"] == 5.0


def test_a_seed_protects_nothing(rewrite):
    """Noise from a public seed makes every release not private, and says so in place of what one text tells."""
    for name in ("tokens", WITH_DELTA):
        _, made = rewrite(b"text\nshow\n", "--test-seed", "1", method=name)
        assert (made["private"], made["row"], len(made["meaning"])) == (False, None, 1)
        assert "seed" in made["noise"]
        assert made["guarantee"]["status"] == made["verification"]["status"] == "refuted"


def test_the_summary_holds_the_certificate(rewrite):
    """What is not protected is named, and a person is told what the file tells a program."""
    _, made = rewrite(b"text,id\nshow,1\n", "--verbose", method=WITH_DELTA)
    assert "4,478 texts" in made["not_protected"][2]
    lines = (made["noise"], made["guarantee"]["source"], made["model"]["trained on"], *made["meaning"])
    assert all(line in rewrite.err for line in (*lines, *made["not_protected"]))


def test_tables_of_one_shape_have_one_certificate(rewrite):
    """Whatever the texts say, tables of as many records have the same certificate."""
    first = rewrite(b"text,id\nshow me all,1\n,2\n")[1]
    assert rewrite(b"text,id\nto,9\nzork boston,8\n")[1] == first


STAGES = {**FACTS, "records": 12, "options": {"noise": ("laplace", 0.25)}, "first stage": FACTS}
ODD = [
    {},
    {"records": "many"},
    {"records": -5},
    {"records": True},
    {**FACTS, "options": None},
    {**FACTS, "options": {"noise": (1,)}},
    *({**FACTS, "options": {"noise": (law, 1.0)}} for law in ("proved", "a\nb", ["laplace"])),
]


def test_what_the_model_was_trained_on(rewrite):
    """Both stages of a training are told, with the noise of the second; facts that are none are not repeated."""
    tell = lambda facts: rewrite(b"text\nshow\n", model=untrained(facts=facts))[1]["model"]["trained on"]  # noqa: E731
    assert tell(FACTS) == "4,478 texts, as its file states"
    assert tell(STAGES) == "12 texts with laplace noise of scale 0.25, after 4,478 texts, as its file states"
    assert {tell(facts) for facts in ODD} == {"texts that its file does not describe"}


def test_models_are_told_apart(rewrite):
    """The fingerprint follows weights, words and limit, and nothing else."""
    other = untrained()
    with torch.no_grad():
        other.network.bias[0] += 1
    models = [MODEL, untrained(facts={}), other, untrained(limit=11), untrained(["show", "us"])]
    found = [rewrite(b"text\nshow\n", model=model)[1]["model"]["fingerprint"] for model in models]
    assert found[0] == found[1]
    assert len({*found}) == 4


def cost(name, epsilon, **options):
    return make_method_cost(dn.rewriting_method(name, MODEL, epsilon=epsilon, **options))


@pytest.mark.parametrize("name", ["adept-true", "adept-l1", "tokens", "dptext-fixed"])
def test_pure_methods(name):
    """What is epsilon-private costs epsilon."""
    [amount], [unit] = cost(name, 5.0).amounts, cost("adept-true", 1.0).amounts
    assert (cost(name, 5.0).account, amount) == ("pure", 5 * unit)


@pytest.mark.parametrize("claim", [4.0, 20.0])
def test_a_method_of_ones_own(claim):
    """What a text costs follows from the guarantee that was verified: refused below the exact loss, else as claimed."""
    stated = type("Own", (dn.Laplace,), {"claim": dn.Guarantee(claim, "Theorem 1 of my paper")})
    method = VectorMethod("own", MODEL, stated(epsilon=5.0, domain=dn.L2Ball(1.0)), {})
    if claim < 5.0:
        with refuses("refuted"):
            make_method_cost(method)
    else:
        assert make_method_cost(method).amounts == cost("adept-true", claim).amounts


def test_gaussian_noise():
    """Gaussian noise is counted by its divergences, which grow with epsilon; another's claim about it is not."""
    small, large = (cost("adept-gaussian", epsilon, delta=1e-6) for epsilon in (1.0, 5.0))
    assert small.account == large.account == "approximate"
    assert all(less <= more for less, more in zip(small.amounts, large.amounts, strict=True))
    assert small.amounts[1] < large.amounts[1]
    stated = type("Own", (dn.Gaussian,), {"claim": dn.Guarantee(0.1, "Theorem 1 of my paper", delta=1e-6)})
    with refuses("undecided"):
        make_method_cost(VectorMethod("own", MODEL, stated(epsilon=5.0, delta=1e-6, domain=dn.L2Ball(1.0)), {}))


def test_what_cannot_be_charged():
    """Nobody knows what a text costs under a claim that is false, nor what a class of another rewrites."""
    for name in ("adept", "dptext"):
        with refuses("refuted"):
            cost(name, 5.0)

    class Own:
        name = "own"

        def verify(self):
            return dn.rewriting_method("tokens", MODEL, epsilon=0.1).verify()

    with refuses("Own"):
        make_method_cost(Own())
