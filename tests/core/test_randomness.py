"""Keyed streams: which bits they give, how they are cut up, and that no other randomness is used."""

import ast
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

import deniable as dn
from deniable.core.randomness import (
    CHUNK_TOKENS,
    Streams,
    check_key,
    derive_key_from_seed,
    derive_stream_start,
    generate_key,
)

KEY = bytes(range(32))


# AES-128 by FIPS 197, byte by byte, to hold the generator against.


def _times(left, right):
    """Return the product of two bytes in GF(2^8)."""
    product = 0
    while right:
        product ^= left * (right & 1)
        left = (left << 1) ^ (0x11B if left & 0x80 else 0)
        right >>= 1
    return product


def _substitute(byte):
    """Return the S-box of a byte: its inverse, then an affine map."""
    inverse = next((other for other in range(256) if _times(byte, other) == 1), 0)
    turned = [(inverse << turn | inverse >> (8 - turn)) & 255 for turn in range(5)]
    return turned[0] ^ turned[1] ^ turned[2] ^ turned[3] ^ turned[4] ^ 0x63


SBOX = [_substitute(byte) for byte in range(256)]


def aes_128(key, block):
    """Return one block of 16 bytes encrypted."""
    words = [list(key[at : at + 4]) for at in range(0, 16, 4)]
    factor = 1
    for at in range(4, 44):
        word = words[-1]
        if at % 4 == 0:
            word = [SBOX[byte] for byte in word[1:] + word[:1]]
            word[0] ^= factor
            factor = _times(factor, 2)
        words.append([left ^ right for left, right in zip(words[at - 4], word, strict=True)])
    keys = [[byte for word in words[at : at + 4] for byte in word] for at in range(0, 44, 4)]
    state = [left ^ right for left, right in zip(block, keys[0], strict=True)]
    for number in range(1, 11):
        state = [SBOX[byte] for byte in state]
        state = [state[(4 * (column + row) + row) % 16] for column in range(4) for row in range(4)]
        if number < 10:
            mixed = []
            for at in range(0, 16, 4):
                column = state[at : at + 4]
                mixed += [
                    _times(column[row], 2)
                    ^ _times(column[(row + 1) % 4], 3)
                    ^ column[(row + 2) % 4]
                    ^ column[(row + 3) % 4]
                    for row in range(4)
                ]
            state = mixed
        state = [left ^ right for left, right in zip(state, keys[number], strict=True)]
    return bytes(state)


def keystream(start, count, key=KEY):
    """Return (count,) numbers of the AES-128 counter stream under a run's key, from a block on."""
    blocks = b"".join(
        aes_128(derive_stream_start(key, "AES-128"), ((start + step) % 2**128).to_bytes(16, "little"))
        for step in range((count + 1) // 2)
    )
    return np.frombuffer(blocks, dtype="<u8")[:count]


def test_reference_cipher_passes_the_standards_example():
    """The cipher that the streams are held against passes the example of FIPS 197, appendix B."""
    key = bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c")
    assert aes_128(key, bytes.fromhex("3243f6a8885a308d313198a2e0370734")).hex() == "3925841d02dc09fbdc118597196a0b32"


STARTS = [0, 1, 2**64 - 1, 2**64 - 2, 2**64 - 5, 2**128 - 1, 2**128 - 3, 2**127 + 12345]


class TestBits:
    """The bits of a stream are those of AES-128 in counter mode."""

    @pytest.mark.parametrize("start", STARTS)
    def test_stream_is_aes_in_counter_mode(self, start):
        """The numbers are the cipher's from the record's start on, also where the counter carries or wraps."""
        streams = Streams(KEY, [start.to_bytes(16, "little")], [33])
        np.testing.assert_array_equal(streams.bits(), keystream(start, 33))
        np.testing.assert_array_equal(streams.bits(region=1), keystream(start + 2**64, 33))

    def test_records_do_not_disturb_each_other(self):
        """Each record gets its own stream, whatever was drawn for the records before it."""
        starts = [start.to_bytes(16, "little") for start in STARTS]
        lengths = [3, 0, 8, 1, 7, 2, 0, 11]
        expected = [keystream(start, length) for start, length in zip(STARTS, lengths, strict=True)]
        np.testing.assert_array_equal(Streams(KEY, starts, lengths).bits(), np.concatenate(expected))

    def test_stream_does_not_change_between_versions(self):
        """A stream known once is known for ever: keyed releases must come out the same."""
        start = derive_stream_start(KEY, "tem(epsilon=3.0)@space", "record 1", "text", "Some text.")
        assert start.hex() == "27185225f8bbc419df82c2b694096518"
        assert [f"{number:016x}" for number in Streams(KEY, [start], [2]).bits()] == [
            "c88ee69c3e49c61d",
            "9b0431e0ed0edf3e",
        ]

    def test_longer_stream_begins_like_the_shorter(self):
        """A record with one more token has the same bits before it."""
        shorter, longer = (Streams(KEY, [bytes(16)], [length]).bits() for length in (1001, 1500))
        np.testing.assert_array_equal(longer[:1001], shorter)

    def test_no_records(self):
        """No records, or records without tokens, have no bits."""
        assert Streams(KEY, [], []).bits().shape == (0,)
        assert Streams(KEY, [bytes(16)] * 3, [0, 0, 0]).bits().shape == (0,)

    def test_bits_are_uniform(self):
        """Each of the 64 bits is set in half of the draws, and neighbouring draws do not correlate."""
        bits = Streams(KEY, [derive_stream_start(KEY, str(record)) for record in range(500)], [200] * 500).bits()
        ones = ((bits[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)).sum(axis=0).astype(np.int64)
        assert np.abs(ones - 50_000).max() < 6 * np.sqrt(25_000)
        assert stats.kstest(bits / 2.0**64, "uniform").pvalue > 1e-6
        assert abs(np.corrcoef(bits[1:] / 2.0**64, bits[:-1] / 2.0**64)[0, 1]) < 6 / np.sqrt(len(bits))

    def test_choices_are_uniform_and_independent_of_bits(self):
        """`choose` draws below each size evenly, with nothing in common with `bits`."""
        streams = Streams(KEY, [derive_stream_start(KEY, "choose")], [60_000])
        sizes = np.tile(np.array([1, 2, 7], dtype=np.int64), 20_000)
        chosen = streams.uniform_below(sizes)
        assert (chosen >= 0).all()
        assert (chosen < sizes).all()
        for size in (2, 7):
            assert stats.chisquare(np.bincount(chosen[sizes == size])).pvalue > 1e-6
        halves = streams.bits() >> np.uint64(63)
        table = np.histogram2d(chosen[sizes == 7], halves[sizes == 7], bins=(7, 2))[0]
        assert stats.chi2_contingency(table).pvalue > 1e-6
        assert np.intersect1d(streams.bits(), streams.bits(region=1)).size == 0


class TestStarts:
    """A stream starts at a keyed digest of all that its noise must depend on."""

    def test_parts_do_not_run_together(self):
        """Moving a boundary between parts, or adding an empty part, gives another stream."""
        lists = [("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""), ("", "abc"), ("a", "b", "c"), ("c", "ab"), ()]
        assert len({derive_stream_start(KEY, *parts) for parts in lists}) == len(lists)

    @given(*[st.lists(st.text(st.characters(), max_size=4), max_size=4)] * 2)
    @example(["a\x00"], ["a", ""])
    @example(["\ud800"], ["\udfff"])
    def test_different_parts_have_different_starts(self, first, second):
        """Two lists of any strings, lone surrogates too, have one start only if they are equal."""
        assert (derive_stream_start(KEY, *first) == derive_stream_start(KEY, *second)) is (first == second)

    def test_it_depends_on_the_key(self):
        """Another key gives another start; one start is 16 bytes."""
        assert derive_stream_start(KEY, "a") != derive_stream_start(bytes(32), "a")
        assert len(derive_stream_start(KEY, "a")) == 16


class TestKeys:
    """Keys: fresh, from a seed, and checked."""

    def test_fresh_keys_differ(self):
        """A fresh key is 32 bytes and never seen before."""
        keys = {generate_key() for _ in range(100)}
        assert len(keys) == 100
        assert {len(key) for key in keys} == {32}

    def test_seeds_have_keys_of_their_own(self):
        """A seed always gives the same 32 bytes; seeds of any size and sign differ."""
        keys = [derive_key_from_seed(seed) for seed in (*range(-50, 50), 2**64, -(2**200))]
        assert len(set(keys)) == len(keys)
        assert {len(key) for key in keys} == {32}
        assert derive_key_from_seed(7) == derive_key_from_seed(7)
        assert derive_key_from_seed(0).hex() == "19581bfdd789fd4d641103141f9b9e3921a3920898192bc8704c5814c1c1bea1"

    @pytest.mark.parametrize("seed", [1.0, "1", None, True, b"1"])
    def test_bad_seed_is_refused(self, seed):
        """A seed that is no int is refused."""
        with pytest.raises(dn.InputError, match=r"The 'seed' parameter must be an int. Got "):
            derive_key_from_seed(seed)

    def test_good_key_is_returned(self):
        """Thirty-two bytes are a key, which does not show from then on."""
        assert check_key(KEY) == KEY
        assert repr(check_key(KEY)) == "<secret key>"

    @pytest.mark.parametrize(
        ("key", "got"),
        [(b"", "0 bytes"), (bytes(31), "31 bytes"), (bytes(33), "33 bytes"), ("a" * 32, "str"), (None, "NoneType")],
    )
    def test_bad_key_is_refused_without_showing_it(self, key, got):
        """Anything else is refused by its size or type; the message never holds the key itself."""
        with pytest.raises(dn.InputError) as caught:
            check_key(key)
        assert str(caught.value) == f"A key must be 32 bytes. Got {got}."


LENGTHS = st.lists(
    st.sampled_from([0, 0, 1, 2, 7, CHUNK_TOKENS - 1, CHUNK_TOKENS, CHUNK_TOKENS + 1, 2 * CHUNK_TOKENS + 5]), max_size=8
)


class TestCutting:
    """Batches and pieces cover every record and every token once."""

    @given(LENGTHS, st.sampled_from([1, 3, 1000, CHUNK_TOKENS, 3 * CHUNK_TOKENS]))
    @example([], 5)
    @example([0, 0, 0], 5)
    @example([0, 4, 0, 4, 0], 4)
    def test_batches_cover_every_record_once(self, lengths, tokens):
        """Batches are consecutive, cover all records, and close as soon as they hold enough tokens."""
        streams = Streams(KEY, [bytes(16)] * len(lengths), lengths)
        ranges = list(streams.batches(tokens))
        assert [record for first, last in ranges for record in range(first, last)] == list(range(len(lengths)))
        for first, last in ranges:
            assert sum(lengths[first : last - 1]) < tokens
        for first, last in ranges[:-1]:
            assert sum(lengths[first:last]) >= tokens

    @given(LENGTHS, st.integers(0, 3))
    @example([0, 1, CHUNK_TOKENS, 0, CHUNK_TOKENS + 1, 2 * CHUNK_TOKENS + 5, 0], 2)
    def test_pieces_cover_every_token_once(self, lengths, first):
        """Pieces are consecutive, at most PIECE long, never across records, and each goes on in its own stream."""
        first = min(first, len(lengths))
        starts = [derive_stream_start(KEY, str(record)) for record in range(len(lengths))]
        streams = Streams(KEY, starts, lengths)
        offset = sum(lengths[:first])
        at, drawn = offset, []
        for piece in streams.chunks(first, len(lengths), offset):
            assert piece.tokens.start == at
            size = piece.tokens.stop - piece.tokens.start
            assert 0 < size <= CHUNK_TOKENS
            drawn.append(piece.generator.random_raw(size))
            at = piece.tokens.stop
        assert at == sum(lengths)
        expected = streams.bits()[offset:]
        np.testing.assert_array_equal(np.concatenate([np.empty(0, np.uint64), *drawn]), expected)

    def test_pieces_end_with_their_record(self):
        """A piece holds tokens of one record only."""
        lengths = [5, CHUNK_TOKENS + 2, 0, 3]
        pieces = list(Streams(KEY, [bytes(16)] * 4, lengths).chunks(0, 4, 0))
        assert [(piece.tokens.start, piece.tokens.stop) for piece in pieces] == [
            (0, 5),
            (5, 5 + CHUNK_TOKENS),
            (5 + CHUNK_TOKENS, 7 + CHUNK_TOKENS),
            (7 + CHUNK_TOKENS, 10 + CHUNK_TOKENS),
        ]

    def test_record_starts_afresh_after_any_use_of_the_generator(self):
        """What one record draws, half numbers and all, leaves nothing behind for the next."""
        streams = Streams(KEY, [bytes(16), derive_stream_start(KEY, "next")], [5, 9])
        for piece in streams.chunks(0, 2, 0):
            generator = np.random.Generator(piece.generator)
            if piece.tokens.start == 0:
                generator.integers(2**32, size=3, dtype=np.uint32)
                generator.standard_normal(7)
            else:
                np.testing.assert_array_equal(piece.generator.random_raw(9), streams.bits()[5:])


SOURCES = sorted(Path(dn.__file__).parent.rglob("*.py"))
FORBIDDEN = re.compile(
    r"np\.random\.(?!Generator\b)|numpy\.random|from random import|import random\b|default_rng|RandomState"
    r"|SystemRandom|random_state|random\.(?:random|seed|choice|shuffle|gauss)\("
)


EVIDENCE = [
    path
    for path in SOURCES
    if {"auditing", "comparison", "measure", "studies", "attacks", "packages", "trainers"} & set(path.parts)
    or ("published" in path.parts and re.search(r"(zoo|entry|entries|audit)\.py$", path.name))
]
"""Code that releases nothing: its coins need not be a cipher's, but global state is left alone there too."""

TORCH_DRAWS = {
    "bernoulli", "bernoulli_", "cauchy_", "exponential_", "geometric_", "log_normal_", "multinomial", "normal",
    "normal_", "poisson", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "random_", "randperm",
    "uniform_",
}  # fmt: skip
TORCH_GLOBAL = {
    "default_generator", "dropout", "fork_rng", "get_rng_state", "manual_seed_all", "seed_all", "set_rng_state",
    "trunc_normal_", "init",
}  # fmt: skip
"""What reads or writes torch's own state, besides drawing without a generator."""


def torch_state(text):
    """Return what of a program reads or writes torch's global random state."""
    tree = ast.parse(text)
    found = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and _is_global(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in TORCH_DRAWS:
            owner = ast.unparse(node.func.value)
            from_torch = owner == "torch" or node.func.attr.endswith("_")
            if from_torch and not any(keyword.arg == "generator" for keyword in node.keywords):
                found.add(node.func.attr)
    return found


def _is_global(node):
    owner = ast.unparse(node.value)
    if node.attr in {"manual_seed", "seed", "initial_seed"}:
        return owner in {"torch", "torch.random", "torch.cuda"}
    return node.attr in TORCH_GLOBAL and owner in {"torch", "torch.random", "torch.cuda", "functional", "nn"}


@pytest.mark.parametrize("path", [path for path in SOURCES if path not in EVIDENCE], ids=lambda path: path.stem)
def test_no_other_randomness_is_used(path):
    """No module that releases uses NumPy's global state, an unkeyed generator, or Python's own random module."""
    assert FORBIDDEN.findall(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", EVIDENCE, ids=lambda path: path.stem)
def test_evidence_tosses_coins_of_its_own(path):
    """Audits, measures and studies use generators that they make themselves, never a global state."""
    text = re.sub(
        r"np\.random\.(default_rng|SeedSequence)\b|random_state=|\b(random|coins)\.", "", path.read_text("utf-8")
    )
    assert FORBIDDEN.findall(text) == []


@pytest.mark.parametrize(
    "path", [path for path in SOURCES if "torch" in path.read_text("utf-8")], ids=lambda path: path.stem
)
def test_torch_s_state_is_left_alone(path):
    """Whatever is drawn by torch comes from a generator that is given; only first weights need torch's own state.

    Those are drawn from a public seed, with the state of before put back.
    """
    allowed = {"fork_rng", "manual_seed"} if path.parts[-2:] == ("learning", "loop.py") else set()
    assert torch_state(path.read_text("utf-8")) == allowed


TRAINING = [path for path in SOURCES if path.parts[-2] == "learning" and path.name != "loop.py"]


@pytest.mark.parametrize("path", TRAINING, ids=lambda path: path.stem)
def test_training_draws_from_the_key(path):
    """Batches and noise of training are drawn by the keyed generator; torch draws nothing there itself.

    What a system draws besides, of views and of a model's own noise, follows from the key as well.
    """
    tree = ast.parse(path.read_text("utf-8"))
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert not {call.attr for call in calls if isinstance(call, ast.Attribute)} & TORCH_DRAWS
    seeds = re.findall(r"manual_seed\((.*)", path.read_text("utf-8"))
    assert all(seed.startswith("int(make_generator(self._key,") for seed in seeds)


def test_search_for_torch_s_state_finds_it():
    """The searches above find what they look for."""
    for line in (
        "torch.manual_seed(0)",
        "torch.randn(3)",
        "x.normal_()",
        "functional.dropout(x)",
        "torch.random.fork_rng()",
        "nn.init.zeros_(x)",
        "torch.get_rng_state()",
    ):
        assert torch_state(line)
    for line in ("torch.randn(3, generator=g)", "torch.Generator().manual_seed(0)", "g.normal(3)", "x.sub_(1)"):
        assert not torch_state(line)


def test_search_for_other_randomness_finds_it():
    """The search above looks at all modules, and finds what it looks for."""
    assert {"tem.py", "randomness.py", "privatizer.py"} <= {path.name for path in SOURCES}
    for line in ("np.random.seed(0)", "import random", "np.random.default_rng()", "from random import choice"):
        assert FORBIDDEN.search(line)
    for line in ("np.random.Generator(x)", "generator.random_raw(3)", "from randomgen import AESCounter"):
        assert not FORBIDDEN.search(line)


def test_global_random_state_is_left_alone(small_space):
    """Drawing neither reads nor writes NumPy's global state."""
    np.random.seed(5)  # noqa: NPY002 - the state that must not be touched
    before = np.random.get_state()  # noqa: NPY002
    outputs = Counter()
    for mechanism in (dn.TEM(small_space, epsilon=3.0), dn.MultivariateLaplace(small_space, epsilon=3.0)):
        outputs.update(mechanism.sample(["baran"] * 50))
    after = np.random.get_state()  # noqa: NPY002
    assert before[0] == after[0]
    np.testing.assert_array_equal(before[1], after[1])
    assert before[2:] == after[2:]
    assert len(outputs) > 1


def test_the_key_is_in_no_repr():
    """Streams can be printed and logged: their key is not shown."""
    key = bytes(range(32))
    shown = repr(Streams(key, [bytes(16)], [1]))
    assert "key" not in shown
    assert key.hex() not in shown
    assert repr(key)[2:-1] not in shown
