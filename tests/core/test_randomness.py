"""Keyed streams: which bits they give, how they are cut up, and that no other randomness is used."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
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
from tests.refusals import refuses

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


def test_streams_are_aes_in_counter_mode():
    """Each record's numbers are the cipher's from its start on, whatever was drawn before; counters wrap."""
    starts, lengths = [start.to_bytes(16, "little") for start in STARTS], [33, 0, 8, 1, 7, 2, 0, 11]
    for region in (0, 1):
        expected = [keystream(one + region * 2**64, count) for one, count in zip(STARTS, lengths, strict=True)]
        np.testing.assert_array_equal(Streams(KEY, starts, lengths).bits(region=region), np.concatenate(expected))
    for start in STARTS[2:7]:
        found = Streams(KEY, [start.to_bytes(16, "little")], [9]).bits()
        np.testing.assert_array_equal(found, keystream(start, 9))
    shorter, longer = (Streams(KEY, [bytes(16)], [length]).bits() for length in (1001, 1500))
    np.testing.assert_array_equal(longer[:1001], shorter)
    assert Streams(KEY, [], []).bits().shape == Streams(KEY, [bytes(16)] * 3, [0, 0, 0]).bits().shape == (0,)


def test_streams_do_not_change_between_versions():
    """A stream known once is known for ever: keyed releases must come out the same."""
    start = derive_stream_start(KEY, "tem(epsilon=3.0)@space", "record 1", "text", "Some text.")
    assert start.hex() == "27185225f8bbc419df82c2b694096518"
    assert Streams(KEY, [start], [2]).bits().tolist() == [0xC88EE69C3E49C61D, 0x9B0431E0ED0EDF3E]


def test_bits_are_uniform():
    """Each of the 64 bits is set in half of the draws, and neighbouring draws do not correlate."""
    bits = Streams(KEY, [derive_stream_start(KEY, str(record)) for record in range(500)], [200] * 500).bits()
    ones = ((bits[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)).sum(axis=0).astype(np.int64)
    assert np.abs(ones - 50_000).max() < 6 * np.sqrt(25_000)
    assert stats.kstest(bits / 2.0**64, "uniform").pvalue > 1e-6
    assert abs(np.corrcoef(bits[1:] / 2.0**64, bits[:-1] / 2.0**64)[0, 1]) < 6 / np.sqrt(len(bits))


def test_choices_are_uniform_and_independent_of_bits():
    """`uniform_below` draws below each size evenly, with nothing in common with `bits`; 30 % off is rejected."""
    streams = Streams(KEY, [derive_stream_start(KEY, "choose")], [60_000])
    sizes = np.tile(np.array([1, 2, 7], dtype=np.int64), 20_000)
    chosen = streams.uniform_below(sizes)
    assert (chosen >= 0).all()
    assert (chosen < sizes).all()
    for size in (2, 7):
        counts = np.bincount(chosen[sizes == size])
        wrong = np.ones(size) + 0.3 * np.eye(size)[0]
        assert stats.chisquare(counts).pvalue > 1e-6
        assert stats.chisquare(counts, wrong / wrong.sum() * counts.sum()).pvalue < 1e-6
    halves = streams.bits() >> np.uint64(63)
    table = np.histogram2d(chosen[sizes == 7], halves[sizes == 7], bins=(7, 2))[0]
    assert stats.chi2_contingency(table).pvalue > 1e-6
    assert np.intersect1d(streams.bits(), streams.bits(region=1)).size == 0


@settings(max_examples=30)
@given(*[st.lists(st.text(st.characters(), max_size=4), max_size=4)] * 2)
@example(["a\x00"], ["a", ""])
@example(["\ud800"], ["\udfff"])
@example(["ab", "c"], ["a", "bc"])
@example([], [""])
def test_different_parts_have_different_starts(first, second):
    """Two lists of any strings, lone surrogates too, have one start only if they are equal; it depends on the key."""
    assert (derive_stream_start(KEY, *first) == derive_stream_start(KEY, *second)) is (first == second)
    assert derive_stream_start(KEY, *first) != derive_stream_start(bytes(32), *first)
    assert len(derive_stream_start(KEY, *first)) == 16


def test_keys():
    """Fresh keys differ, a seed always gives the same one, and no key shows; anything else is refused unseen."""
    assert len({generate_key() for _ in range(100)} | {b""}) == 101
    keys = [derive_key_from_seed(seed) for seed in (*range(-50, 50), 2**64, -(2**200))]
    assert len(set(keys)) == len(keys)
    assert {len(key) for key in (*keys, generate_key())} == {32}
    assert derive_key_from_seed(0).hex() == "19581bfdd789fd4d641103141f9b9e3921a3920898192bc8704c5814c1c1bea1"
    assert check_key(KEY) == KEY
    assert repr(check_key(KEY)) == "<secret key>"
    for seed in (1.0, "1", None, True, b"1"):
        with refuses(type(seed).__name__):
            derive_key_from_seed(seed)
    shown = repr(Streams(KEY, [bytes(16)], [1]))
    assert not any(form in shown for form in ("key", KEY.hex(), repr(KEY)[2:-1]))
    for key, got in ((b"", 0), (b"secret", 6), (bytes(33), 33), ("a" * 32, "str"), (None, "NoneType")):
        with pytest.raises(dn.InputError) as caught:
            check_key(key)
        assert caught.value.args == (f"A key must be 32 bytes. Got {got}{' bytes' * isinstance(got, int)}.",)


LENGTHS = st.lists(
    st.sampled_from([0, 0, 1, 2, 7, CHUNK_TOKENS - 1, CHUNK_TOKENS, CHUNK_TOKENS + 1, 2 * CHUNK_TOKENS + 5]), max_size=8
)


@settings(max_examples=30)
@given(LENGTHS, st.sampled_from([1, 3, 1000, CHUNK_TOKENS, 3 * CHUNK_TOKENS]))
@example([], 5)
@example([0, 0, 0], 5)
@example([0, 4, 0, 4, 0], 4)
def test_batches_cover_every_record_once(lengths, tokens):
    """Batches are consecutive, cover all records, and close as soon as they hold enough tokens."""
    streams = Streams(KEY, [bytes(16)] * len(lengths), lengths)
    ranges = list(streams.batches(tokens))
    assert [record for first, last in ranges for record in range(first, last)] == list(range(len(lengths)))
    for first, last in ranges:
        assert sum(lengths[first : last - 1]) < tokens
    for first, last in ranges[:-1]:
        assert sum(lengths[first:last]) >= tokens


@settings(max_examples=30)
@given(LENGTHS, st.integers(0, 3))
@example([0, 1, CHUNK_TOKENS, 0, CHUNK_TOKENS + 1, 2 * CHUNK_TOKENS + 5, 0], 2)
def test_pieces_cover_every_token_once(lengths, first):
    """Pieces are consecutive, short, never across records, and each goes on in its own stream, however it was used."""
    first = min(first, len(lengths))
    starts = [derive_stream_start(KEY, str(record)) for record in range(len(lengths))]
    streams = Streams(KEY, starts, lengths)
    offset, ends = sum(lengths[:first]), np.cumsum(lengths).tolist()
    at, drawn = offset, []
    for piece in streams.chunks(first, len(lengths), offset):
        assert piece.tokens.start == at
        assert 0 < piece.tokens.stop - at <= CHUNK_TOKENS
        assert not any(at < end < piece.tokens.stop for end in ends)
        drawn.append(piece.generator.random_raw(piece.tokens.stop - at))
        at = piece.tokens.stop
        if at in ends:  # what one record draws, half numbers and all, leaves nothing behind for the next
            np.random.Generator(piece.generator).integers(2**32, size=3, dtype=np.uint32)
    assert at == sum(lengths)
    np.testing.assert_array_equal(np.concatenate([np.empty(0, np.uint64), *drawn]), streams.bits()[offset:])


SOURCES = sorted(Path(dn.__file__).parent.rglob("*.py"))
FORBIDDEN = re.compile(
    r"np\.random\.(?!Generator\b)|numpy\.random|from random import|import random\b|default_rng|RandomState"
    r"|SystemRandom|random_state|random\.(?:random|seed|choice|shuffle|gauss)\("
)


EVIDENCE = [
    path
    for path in SOURCES
    if {"auditing", "survey", "measure", "studies", "packages.py", "trainers"} & set(path.parts)
    or ("published" in path.parts and re.search(r"(zoo|entry|audit)\.py$", path.name))
    or path.parts[-2:] in {("adept", "texts.py"), ("samplers", "toy.py"), ("samplers", "prediction.py")}
    or path.parts[-2:] == ("published", "sensitive_vectors.py")
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


def test_no_other_randomness_is_used():
    """No module that releases uses NumPy's global state, an unkeyed generator, or Python's own random module.

    Audits, measures and studies use generators that they make themselves, never a global state.
    """
    assert {"tem.py", "randomness.py", "sklearn.py"} <= {path.name for path in SOURCES} - {p.name for p in EVIDENCE}
    own = re.compile(r"np\.random\.(default_rng|SeedSequence)\b|random_state=|\b(random|coins)\.")
    for path in SOURCES:
        text = path.read_text("utf-8")
        assert FORBIDDEN.findall(own.sub("", text) if path in EVIDENCE else text) == [], path


def test_torch_s_state_is_left_alone():
    """Whatever is drawn by torch comes from a generator that is given; only first weights need torch's own state.

    Those are drawn from a public seed, with the state of before put back. Batches and noise of training, and what a
    system draws besides, of views and of a model's own noise, follow from the key.
    """
    for path in SOURCES:
        text = path.read_text("utf-8")
        is_loop = path.parts[-2:] == ("learning", "loop.py")
        if "torch" in text:
            assert torch_state(text) == ({"fork_rng", "manual_seed"} if is_loop else set()), path
        if path.parts[-2] == "learning" and not is_loop:
            calls = [node.func for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
            assert not {call.attr for call in calls if isinstance(call, ast.Attribute)} & TORCH_DRAWS, path
            seeds = re.findall(r"manual_seed\((.*)", text)
            assert all(seed.startswith("int(make_generator(self.key,") for seed in seeds), path


def test_the_searches_find_what_they_look_for():
    """Lines that use another randomness are found, and lines that use none are not."""
    found = ["manual_seed(0)", "randn(3)", "random.fork_rng()", "get_rng_state()"]
    assert all(map(torch_state, [f"torch.{call}" for call in found]))
    assert all(map(torch_state, ("x.normal_()", "functional.dropout(x)", "nn.init.zeros_(x)")))
    keyed = ("torch.randn(3, generator=g)", "torch.Generator().manual_seed(0)", "g.normal(3)", "x.sub_(1)")
    assert not any(map(torch_state, keyed))
    for line in ("np.random.seed(0)", "import random", "np.random.default_rng()", "from random import choice"):
        assert FORBIDDEN.search(line)
    for line in ("np.random.Generator(x)", "generator.random_raw(3)", "from randomgen import AESCounter"):
        assert not FORBIDDEN.search(line)


def test_global_random_state_is_left_alone(small_space):
    """Drawing neither reads nor writes NumPy's global state."""
    np.random.seed(5)  # noqa: NPY002 - the state that must not be touched
    before = np.random.get_state()  # noqa: NPY002
    for mechanism in (dn.TEM(small_space, epsilon=3.0), dn.MultivariateLaplace(small_space, epsilon=3.0)):
        assert len(set(mechanism.sample(["baran"] * 50))) > 1
    after = np.random.get_state()  # noqa: NPY002
    assert before[0] == after[0]
    np.testing.assert_array_equal(before[1], after[1])
    assert before[2:] == after[2:]
