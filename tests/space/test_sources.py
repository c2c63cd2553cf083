"""Files of vectors: every format that is read, and every way in which a file can be broken."""

import gzip
import io
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import deniable as dn
from tests.refusals import refuses

WORDS = ("the", "caf\u00e9", "a b c", "1,000", "\u65e5\u672c")
VECTORS = np.array([[0.5, -1.25, 3.0], [1.0, 2.0, -0.0], [1e-3, 4.0, 5e2], [7.0, 8.0, 9.0], [-1.5, 0.25, 0.125]])
GARBAGE = np.random.default_rng(7).integers(256, size=5000, dtype=np.uint8).tobytes()


def text(words=WORDS, vectors=VECTORS, header=None, end="\n"):
    """Return vectors in the text format, as bytes."""
    lines = [] if header is None else [header]
    lines += [" ".join([word, *(repr(float(x)) for x in row)]) for word, row in zip(words, vectors, strict=True)]
    return (end.join(lines) + end).encode()


MANY = text([f"w{number}" for number in range(1500)], np.arange(4500.0).reshape(1500, 3))


def binary(words=WORDS, vectors=VECTORS, header=None, newline=b"\n"):
    """Return vectors in word2vec's binary format."""
    out = (header or f"{len(words)} {vectors.shape[1]}").encode() + b"\n"
    for word, row in zip(words, vectors, strict=True):
        out += word.replace(" ", "_").encode() + b" " + struct.pack(f"<{len(row)}f", *row) + newline
    return out


def archive(**arrays):
    """Return a NumPy archive."""
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def load(tmp_path, content, name="vectors.txt", **options):
    """Write a file and read it."""
    path = tmp_path / name
    path.write_bytes(content)
    return dn.Space.load(path, **{"hide": ()} | options)


def refuse(tmp_path, content, name="vectors.txt", value=None, **options):
    """Check that a file is refused with one line that names it, or holds the value."""
    with refuses(name if value is None else value):
        load(tmp_path, content, name, **options)


def read_or_refuse(tmp_path, content, name):
    """Check that a file is read, or refused with one line, and that nothing else happens."""
    try:
        assert load(tmp_path, content, name).words
    except dn.InputError as error:
        lines = f"{error}".splitlines()
        if len(lines) != 1:
            raise AssertionError(lines) from error


class TestText:
    """GloVe and word2vec text."""

    @pytest.mark.parametrize("end", ["\n", "\r\n", " \n", "\n\n"])
    def test_glove(self, tmp_path, end):
        """A word and its numbers on each line; words may hold spaces; line ends and blank lines vary."""
        space = load(tmp_path, text(end=end))
        assert space.words == WORDS
        np.testing.assert_array_equal(space.vectors, VECTORS)
        assert space.source == "vectors.txt"
        assert space.notes == ()

    def test_other_forms(self, tmp_path):
        """A header is no word; tabs separate; the last line needs no end; a byte order mark is no part of a word."""
        for content in (text(header="5 3"), text().rstrip(b"\n"), b"\xef\xbb\xbf" + text()):
            assert load(tmp_path, content).words == WORDS
        space = load(tmp_path, b"one\t1\t2\ntwo\t3\t4\n")
        assert space.words == ("one", "two")
        np.testing.assert_array_equal(space.vectors, [[1, 2], [3, 4]])
        assert load(tmp_path, b"3 1 2 5\n4 3 4 6\n. . 9 8 7\n").words == ("3", "4", ". .")
        assert load(tmp_path, b"caf\xe9 1 2\nx 3 4\n").words == ("caf\ufffd", "x")
        assert load(tmp_path, gzip.compress(text()), "vectors.txt.gz").words == WORDS
        assert load(tmp_path, gzip.compress(binary()), "vectors.bin.gz").words[3] == "1,000"

    def test_options(self, tmp_path):
        """A path may be a string, the metric is that of `Space`, and with a limit the rest need not be whole."""
        path = tmp_path / "v.txt"
        path.write_bytes(text())
        assert dn.Space.load(str(path), hide=(), metric="chebyshev").metric.name == "chebyshev"
        space = load(tmp_path, text(header="5 3"), limit=2)
        assert (space.words, space.notes) == (WORDS[:2], ())
        assert len(load(tmp_path, MANY + b"ragged 1\n", limit=1500)) == 1500
        assert len(load(tmp_path, MANY, limit=10_000)) == 1500
        for limit in (0, -1, "3", 2.5, True):
            refuse(tmp_path, text(), value=repr(limit), limit=limit)

    def test_numbers_are_read_to_the_last_bit(self, tmp_path):
        """Every float comes back as it was written."""
        vectors = np.random.default_rng(0).normal(size=(50, 7)) * 10.0 ** np.arange(-3, 4)
        space = load(tmp_path, text([f"w{number}" for number in range(50)], vectors))
        np.testing.assert_array_equal(space.vectors, vectors)

    def test_wrong_headers(self, tmp_path):
        """Another count leaves a note; another dimension is refused at the first line that differs."""
        space = load(tmp_path, text(header="7 3"))
        assert space.words == WORDS
        assert space.notes == ("the header announces 7 words, the file has 5",)
        for header in ("5 4", "5 2"):
            refuse(tmp_path, text(header=header), value="vectors.txt line 2")

    @pytest.mark.parametrize(
        "line", ["six 1.0 2.0", "six 1.0 2.0 x", "six", "1.0 2.0 3.0", "six 1.0 2.0 3.0 4.0", "six 1,0 2,0 3,0"]
    )
    def test_ragged_line_is_refused(self, tmp_path, line):
        """A line with too few or too many numbers is refused with its number, far down too."""
        refuse(tmp_path, text() + line.encode() + b"\n", value="vectors.txt line 6")
        refuse(tmp_path, MANY + b"\n\n" + line.encode() + b"\n", value="line 1503")

    @pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e999"])
    def test_number_that_is_not_finite_is_refused(self, tmp_path, number):
        """NaN or infinity is refused, and so is the zero vector where it has no angle."""
        refuse(tmp_path, text() + f"six 1.0 {number} 2.0\n".encode(), value="")
        refuse(tmp_path, text() + b"zero 0 0 0\n", value="number 5", metric="angular")

    @pytest.mark.parametrize(
        "content",
        [
            *(b"", b"\n", b"\n \n\r\n", b"word\n", b"one\ntwo\nthree\n", b"<html>\n<body>\n", GARBAGE),
            b"1" * 5_000 + b" " + b"2" * 5_000 + b"\na 1 2\n",
        ],
        ids=range(8),
    )
    def test_what_is_no_file_of_vectors_is_refused(self, tmp_path, content):
        """No entries, words without numbers, bytes that mean nothing, and numbers of thousands of digits."""
        for name in ("vectors.txt", "vectors.vec", "vectors"):
            refuse(tmp_path, content, name)


class TestBinary:
    """word2vec's binary format."""

    @pytest.mark.parametrize("newline", [b"\n", b""])
    def test_entries(self, tmp_path, newline):
        """Words and float32 vectors are read with and without line breaks between entries, and up to a limit."""
        words = tuple(word.replace(" ", "_") for word in WORDS)
        space = load(tmp_path, binary(newline=newline), "vectors.bin")
        assert space.words == words
        np.testing.assert_array_equal(space.vectors, VECTORS.astype(np.float32))
        assert load(tmp_path, binary(newline=newline), "vectors.bin", limit=2).words == words[:2]

    def test_a_file_that_ends_early_is_refused(self, tmp_path):
        """Whether it is cut or its header announces more, the entry at which it ends is named."""
        for cut in (1, 5, 13, 30):
            refuse(tmp_path, binary(newline=b"")[:-cut], "vectors.bin", "of 5")
        for header in ("6 3", "9999999999999 3"):
            refuse(tmp_path, binary(header=header), "vectors.bin", "entry 6")
        for header in ("5 300", "5 99999999", "5 9999999999999", "5 99999999999999999999999"):
            refuse(tmp_path, binary(header=header), "vectors.bin")

    @pytest.mark.parametrize(
        "content",
        [b"", b"\n", b"five 3\n", b"0 3\n", b"5 0\n", b"5\n", b"5 3 1\n", b"-5 3\n", b"2 900000000\n", GARBAGE],
        ids=range(10),
    )
    def test_bad_header_is_refused(self, tmp_path, content):
        """A file that does not begin with two numbers that a file may have is refused."""
        refuse(tmp_path, content, "vectors.bin", "header")


HOSTILE = ("(900000000000000000, 0)", "(1000000000000,)", "(" * 500, f"({10**600},)")


class TestNpz:
    """NumPy archives."""

    @pytest.mark.parametrize(
        "words",
        [
            np.array(WORDS),
            np.array([word.encode() for word in WORDS]),
            np.array("\n".join(WORDS).encode()),
            np.array(("\n".join(WORDS) + "\n").encode()),
            np.array("\n".join(WORDS)),
        ],
        ids=["strings", "bytes", "lines", "lines ended", "one string"],
    )
    def test_forms_of_words(self, tmp_path, words):
        """Words are an array of strings or bytes, or one scalar of lines, compressed or not, up to a limit."""
        content = archive(words=words, vectors=VECTORS)
        np.savez_compressed(tmp_path / "compressed.npz", words=words, vectors=VECTORS)
        for space in (load(tmp_path, content, "v.npz"), dn.Space.load(tmp_path / "compressed.npz", hide=())):
            assert space.words == WORDS
            np.testing.assert_array_equal(space.vectors, VECTORS)
        assert load(tmp_path, content, "v.npz", limit=3).words == WORDS[:3]

    @pytest.mark.parametrize(
        ("arrays", "value"),
        [
            ({"words": np.array(WORDS)}, "'vectors'"),
            ({"vectors": VECTORS}, "'words'"),
            ({"words": np.array(WORDS[:4]), "vectors": VECTORS}, "(5, 3)"),
            ({"words": np.array(WORDS), "vectors": VECTORS.ravel()}, "(15,)"),
            ({"words": np.array(WORDS, dtype=object), "vectors": VECTORS}, "'words'"),
            ({"words": np.array(WORDS), "vectors": np.array(3.0)}, "()"),
            ({"words": np.array(b"a\nb"), "vectors": np.array(3.0)}, "()"),
        ],
    )
    def test_bad_arrays_are_refused(self, tmp_path, arrays, value):
        """Missing arrays, other shapes and pickled objects are refused."""
        refuse(tmp_path, archive(**arrays), "vectors.npz", value)

    @pytest.mark.parametrize("kind", ["random", "empty", "text", "array", "cut", "damaged", "large"])
    def test_file_that_is_no_archive_is_refused(self, tmp_path, kind):
        """Garbage, nothing, text, one array, half an archive, a damaged one, and one that expands without end."""
        whole, path = archive(words=np.array(WORDS), vectors=VECTORS), tmp_path / "made"
        if kind == "array":
            np.save(path.with_suffix(".npy"), VECTORS)
            content = path.with_suffix(".npy").read_bytes()
        elif kind in {"damaged", "large"}:
            vectors = np.zeros((2, 1 << 23) if kind == "large" else (2, 300))
            np.savez_compressed(path.with_suffix(".npz"), words=np.array(WORDS[:2]), vectors=vectors)
            content = bytearray(path.with_suffix(".npz").read_bytes())
            if kind == "damaged":
                content[60:90] = bytes(255 - byte for byte in content[60:90])
        else:
            content = {"random": GARBAGE, "empty": b"", "text": text(), "cut": whole[: len(whole) // 2]}[kind]
        refuse(tmp_path, content, "vectors.npz")

    @pytest.mark.parametrize("name", ["words", "vectors"])
    @pytest.mark.parametrize(
        "content",
        [
            *(b"\x93NUMPY\x01\x00v\x00{[[(" + b" " * 114, b"no array", b""),
            *(f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode() for shape in HOSTILE),
        ],
        ids=range(7),
    )
    def test_members_that_are_no_arrays_are_refused(self, tmp_path, name, content):
        """A member without a header, with one that cannot be read, or with a shape that no file has, is one line."""
        if content.startswith(b"{"):
            content = b"\x93NUMPY\x01\0" + len(content).to_bytes(2, "little") + content
        good, bad = io.BytesIO(archive(words=np.array(WORDS), vectors=VECTORS)), io.BytesIO()
        with zipfile.ZipFile(good) as source, zipfile.ZipFile(bad, "w") as target:
            for member in source.namelist():
                target.writestr(member, content if member == f"{name}.npy" else source.read(member))
        refuse(tmp_path, bad.getvalue(), "vectors.npz", "'words'")

    @pytest.mark.parametrize("order", ["<", ">"])
    @pytest.mark.parametrize("is_list", [False, True])
    def test_characters_that_there_are_not_are_refused(self, tmp_path, order, is_list):
        """A number above the last character, in either byte order, is one line: no text can hold it."""
        letters = np.array([0x110000, 0x61], dtype=f"{order}u4").view(f"{order}U1")
        words = letters if is_list else letters.view(f"{order}U2").reshape(())
        refuse(tmp_path, archive(words=words, vectors=VECTORS[:2]), "vectors.npz", "1,114,112")


KINDS = ("plain", "cut", "checksum", "damaged", "long line")


class TestFiles:
    """What is wrong with a file itself."""

    @pytest.mark.parametrize("name", ["none.txt", "none.bin", "none.npz", "none.txt.gz"])
    def test_missing_file_is_refused(self, tmp_path, name):
        """A path without a file is refused by name, and so is a folder."""
        for _ in range(2):
            with refuses(name):
                dn.Space.load(tmp_path / name)
            (tmp_path / name).mkdir(exist_ok=True)

    @pytest.mark.parametrize("kind", [*KINDS, pytest.param("many lines", marks=pytest.mark.deep)])
    def test_broken_gzip_is_refused(self, tmp_path, kind):
        """A .gz file that is not compressed, ends early, is damaged, or expands without end is refused."""
        many = text([f"w{number}" for number in range(1500)], np.random.default_rng(0).normal(size=(1500, 3)))
        whole, middle = bytearray(gzip.compress(many)), len(gzip.compress(many)) // 2
        if kind == "plain":
            whole = many
        elif kind == "cut":
            whole = whole[:middle]
        elif kind == "checksum":
            whole[-8:-4] = b"\0\0\0\0"
        elif kind == "damaged":
            whole[middle : middle + 50] = bytes(255 - byte for byte in whole[middle : middle + 50])
        else:
            endless = b"0" * (1 << 24) if kind == "long line" else b"a 1 2\n" * (1 << 22)
            whole = gzip.compress(b"a 1 2\nb 3 4\n" + endless, 1)
        refuse(tmp_path, bytes(whole), "vectors.txt.gz", limit=10**7)

    def test_words_of_megabytes_are_refused(self, tmp_path):
        """No word is longer than 10,000 bytes."""
        refuse(tmp_path, b"2 1\n" + b"a" * 20_000 + b" 0000", "v.bin", "10,000")

    @pytest.mark.parametrize("examples", [25, pytest.param(200, marks=pytest.mark.deep)])
    def test_any_bytes_are_read_or_refused(self, tmp_path, examples):
        """Whatever a file holds, or whichever byte of a good one changed, it is read or refused with one line."""
        goods = {
            "txt": text(header="5 3"),
            "bin": binary(),
            "npz": archive(words=np.array(WORDS), vectors=VECTORS),
            "txt.gz": gzip.compress(text()),
        }

        @settings(max_examples=examples, suppress_health_check=[HealthCheck.function_scoped_fixture])
        @given(st.sampled_from(sorted(goods)), st.binary(max_size=200), st.integers(0, 500), st.integers(0, 255))
        def check(form, content, place, byte):
            damaged = bytearray(goods[form])
            damaged[place % len(damaged)] = byte
            read_or_refuse(tmp_path, content, f"f.{form}")
            read_or_refuse(tmp_path, bytes(damaged), f"f.{form}")

        check()
