"""Files of vectors: every format that is read, and every way in which a file can be broken."""

import gzip
import io
import struct
import time
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import deniable as dn

WORDS = ("the", "caf\u00e9", "a b c", "1,000", "\u65e5\u672c")
VECTORS = np.array([[0.5, -1.25, 3.0], [1.0, 2.0, -0.0], [1e-3, 4.0, 5e2], [7.0, 8.0, 9.0], [-1.5, 0.25, 0.125]])


def text(words=WORDS, vectors=VECTORS, header=None, end="\n"):
    """Return vectors in the text format, as bytes."""
    lines = [] if header is None else [header]
    lines += [" ".join([word, *(repr(float(x)) for x in row)]) for word, row in zip(words, vectors, strict=True)]
    return (end.join(lines) + end).encode()


def binary(words=WORDS, vectors=VECTORS, header=None, newline=b"\n"):
    """Return vectors in word2vec's binary format."""
    out = (header or f"{len(words)} {vectors.shape[1]}").encode() + b"\n"
    for word, row in zip(words, vectors, strict=True):
        out += word.replace(" ", "_").encode() + b" " + struct.pack(f"<{len(row)}f", *row) + newline
    return out


def load(tmp_path, content, name="vectors.txt", **options):
    """Write a file and read it."""
    path = tmp_path / name
    path.write_bytes(content)
    return dn.Space.load(path, **{"hide": ()} | options)


def is_refused(tmp_path, content, match, name="vectors.txt", **options):
    """Check that a file is refused with one line that names it."""
    with pytest.raises(dn.InputError, match=match) as caught:
        load(tmp_path, content, name, **options)
    assert "\n" not in str(caught.value)
    assert name in str(caught.value)


def message_or_words(tmp_path, content, name):
    """Return the lines of the refusal of a file, of which there must be one, or its words."""
    try:
        return load(tmp_path, content, name).words
    except dn.InputError as error:
        lines = str(error).splitlines()
    if len(lines) != 1:
        raise AssertionError(lines)
    return lines


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

    def test_word2vec_header(self, tmp_path):
        """A header of two numbers is no word."""
        space = load(tmp_path, text(header="5 3"))
        assert space.words == WORDS
        assert space.notes == ()

    def test_last_line_without_end(self, tmp_path):
        """A file that does not end in a line break is whole."""
        assert len(load(tmp_path, text().rstrip(b"\n"))) == 5

    def test_tabs(self, tmp_path):
        """Tabs separate fields as spaces do."""
        space = load(tmp_path, b"one\t1\t2\ntwo\t3\t4\n")
        assert space.words == ("one", "two")
        np.testing.assert_array_equal(space.vectors, [[1, 2], [3, 4]])

    def test_number_words(self, tmp_path):
        """A word that looks like a number is a word: the last fields alone are the vector."""
        space = load(tmp_path, b"3 1 2 5\n4 3 4 6\n. . 9 8 7\n")
        assert space.words == ("3", "4", ". .")

    def test_byte_order_mark(self, tmp_path):
        """A byte order mark is no part of the first word."""
        assert load(tmp_path, b"\xef\xbb\xbf" + text()).words == WORDS

    def test_bytes_that_are_not_utf8(self, tmp_path):
        """A word in another encoding is read with replacement characters, and does not stop the file."""
        space = load(tmp_path, b"caf\xe9 1 2\nx 3 4\n")
        assert space.words == ("caf\ufffd", "x")

    def test_gzip(self, tmp_path):
        """A compressed file is read like the file itself."""
        assert load(tmp_path, gzip.compress(text()), "vectors.txt.gz").words == WORDS
        assert load(tmp_path, gzip.compress(binary()), "vectors.bin.gz").words[3] == "1,000"

    def test_limit(self, tmp_path):
        """Only the first entries are read, and what follows them need not be whole."""
        assert load(tmp_path, text(), limit=2).words == WORDS[:2]
        assert load(tmp_path, text(header="5 3"), limit=2).notes == ()
        many = text([f"w{number}" for number in range(1500)], np.arange(4500.0).reshape(1500, 3))
        assert len(load(tmp_path, many + b"ragged 1\n", limit=1500)) == 1500
        assert len(load(tmp_path, many, limit=10_000)) == 1500

    def test_metric(self, tmp_path):
        """The metric is that of `Space`."""
        assert load(tmp_path, text(), metric="chebyshev").metric.name == "chebyshev"

    def test_path_may_be_a_string(self, tmp_path):
        """A path is a string or a Path."""
        (tmp_path / "v.txt").write_bytes(text())
        assert dn.Space.load(str(tmp_path / "v.txt"), hide=()).words == WORDS

    def test_numbers_are_read_to_the_last_bit(self, tmp_path):
        """Every float comes back as it was written."""
        vectors = np.random.default_rng(0).normal(size=(50, 7)) * 10.0 ** np.arange(-3, 4)
        space = load(tmp_path, text([f"w{number}" for number in range(50)], vectors))
        np.testing.assert_array_equal(space.vectors, vectors)

    def test_header_with_another_count_is_noted(self, tmp_path):
        """A header that announces more or fewer words than there are leaves a note."""
        space = load(tmp_path, text(header="7 3"))
        assert space.words == WORDS
        assert space.notes == ("the header announces 7 words, the file has 5",)

    def test_header_with_another_dimension_is_refused(self, tmp_path):
        """A header that announces another dimension is refused at the first line that differs."""
        is_refused(tmp_path, text(header="5 4"), "line 2 must end in 4 numbers")
        is_refused(tmp_path, text(header="5 2"), "line 2 must end in 2 numbers")

    @pytest.mark.parametrize(
        "line", ["six 1.0 2.0", "six 1.0 2.0 x", "six", "1.0 2.0 3.0", "six 1.0 2.0 3.0 4.0", "six 1,0 2,0 3,0"]
    )
    def test_ragged_line_is_refused(self, tmp_path, line):
        """A line with too few or too many numbers is refused with its number and its beginning."""
        is_refused(tmp_path, text() + line.encode() + b"\n", "vectors.txt line 6 must end in 3 numbers")

    def test_ragged_line_far_down_is_refused(self, tmp_path):
        """The number of the line is right beyond the lines that are looked at first, and with blank lines."""
        many = text([f"w{number}" for number in range(1500)], np.arange(4500.0).reshape(1500, 3))
        is_refused(tmp_path, many + b"\n\nragged 1 2\n", "line 1503 must end in 3 numbers")

    @pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e999"])
    def test_number_that_is_not_finite_is_refused(self, tmp_path, number):
        """NaN or infinity is refused with the word or the line it stands at."""
        with pytest.raises(dn.InputError, match=r"'six'|line 6") as caught:
            load(tmp_path, text() + f"six 1.0 {number} 2.0\n".encode())
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("content", [b"", b"\n", b"\n \n\r\n"])
    def test_empty_file_is_refused(self, tmp_path, content):
        """A file without entries is refused."""
        is_refused(tmp_path, content, "is empty")

    @pytest.mark.parametrize("content", [b"word\n", b"one\ntwo\nthree\n", b"<html>\n<body>\n"])
    def test_file_without_numbers_is_refused(self, tmp_path, content):
        """A list of words is no file of vectors."""
        is_refused(tmp_path, content, "line 1")

    @pytest.mark.parametrize("name", ["vectors.txt", "vectors.vec", "vectors"])
    def test_a_header_of_very_long_numbers_is_refused(self, tmp_path, name):
        """Thousands of digits, which Python does not read as a number, are one line."""
        is_refused(tmp_path, b"1" * 5_000 + b" " + b"2" * 5_000 + b"\na 1 2\n", "line|header", name)

    @pytest.mark.parametrize("name", ["vectors.txt", "vectors.vec", "vectors"])
    def test_garbage_is_refused(self, tmp_path, name):
        """Bytes that mean nothing are refused with the file's name and a line."""
        garbage = np.random.default_rng(7).integers(256, size=5000, dtype=np.uint8).tobytes()
        is_refused(tmp_path, garbage, "line", name)

    def test_zero_vector_under_the_angular_metric_is_refused(self, tmp_path):
        """The zero vector has no angle; under other metrics it is a vector like any other."""
        content = text() + b"zero 0 0 0\n"
        with pytest.raises(dn.InputError, match=r"Vector number 5 is zero: leave that word out"):
            load(tmp_path, content, metric="angular")
        assert len(load(tmp_path, content)) == 6


class TestBinary:
    """word2vec's binary format."""

    @pytest.mark.parametrize("newline", [b"\n", b""])
    def test_entries(self, tmp_path, newline):
        """Words and float32 vectors are read with and without line breaks between entries."""
        space = load(tmp_path, binary(newline=newline), "vectors.bin")
        assert space.words == tuple(word.replace(" ", "_") for word in WORDS)
        np.testing.assert_array_equal(space.vectors, VECTORS.astype(np.float32))

    def test_limit(self, tmp_path):
        """Only the first entries are read."""
        assert load(tmp_path, binary(), "vectors.bin", limit=2).words == WORDS[:2]

    @pytest.mark.parametrize("cut", [1, 5, 13, 30])
    def test_truncated_file_is_refused(self, tmp_path, cut):
        """A file that ends early is refused with the entry at which it ends."""
        is_refused(tmp_path, binary(newline=b"")[:-cut], r"ends in the middle of entry \d of 5", "vectors.bin")

    def test_header_that_announces_too_many_words_is_refused(self, tmp_path):
        """A header that announces more words than there are is refused at the first one missing."""
        is_refused(tmp_path, binary(header="6 3"), "ends in the middle of entry 6 of 6", "vectors.bin")
        is_refused(tmp_path, binary(header="9999999999999 3"), "ends in the middle of entry 6", "vectors.bin")

    @pytest.mark.parametrize("header", ["5 300", "5 99999999", "5 9999999999999", "5 99999999999999999999999"])
    def test_header_that_announces_too_many_dimensions_is_refused(self, tmp_path, header):
        """A header that announces longer vectors than there are bytes is refused, however long."""
        is_refused(tmp_path, binary(header=header), "vectors.bin", "vectors.bin")

    @pytest.mark.parametrize("content", [b"", b"\n", b"five 3\n", b"0 3\n", b"5 0\n", b"5\n", b"5 3 1\n", b"-5 3\n"])
    def test_bad_header_is_refused(self, tmp_path, content):
        """A file that does not begin with the two numbers is refused."""
        is_refused(tmp_path, content, "does not begin with the word2vec header", "vectors.bin")

    def test_garbage_is_refused(self, tmp_path):
        """Bytes that mean nothing are refused."""
        garbage = np.random.default_rng(7).integers(256, size=5000, dtype=np.uint8).tobytes()
        is_refused(tmp_path, garbage, "does not begin with the word2vec header", "vectors.bin")


class TestNpz:
    """NumPy archives."""

    @staticmethod
    def save(tmp_path, **arrays):
        """Write an archive and return its bytes."""
        np.savez(tmp_path / "made.npz", **arrays)
        return (tmp_path / "made.npz").read_bytes()

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
    def test_both_forms_of_words(self, tmp_path, words):
        """Words are an array of strings or bytes, or one scalar of lines."""
        space = load(tmp_path, self.save(tmp_path, words=words, vectors=VECTORS), "vectors.npz")
        assert space.words == WORDS
        np.testing.assert_array_equal(space.vectors, VECTORS)

    def test_limit(self, tmp_path):
        """Only the first entries are taken."""
        content = self.save(tmp_path, words=np.array(WORDS), vectors=VECTORS.astype(np.float32))
        assert load(tmp_path, content, "vectors.npz", limit=3).words == WORDS[:3]

    def test_compressed(self, tmp_path):
        """A compressed archive is read too."""
        np.savez_compressed(tmp_path / "v.npz", words=np.array(WORDS), vectors=VECTORS)
        assert dn.Space.load(tmp_path / "v.npz", hide=()).words == WORDS

    @pytest.mark.parametrize(
        ("arrays", "match"),
        [
            ({"words": np.array(WORDS)}, "must hold the arrays 'words' and 'vectors'"),
            ({"vectors": VECTORS}, "must hold the arrays 'words' and 'vectors'"),
            ({"words": np.array(WORDS[:4]), "vectors": VECTORS}, r"has 4 words but vectors of shape \(5, 3\)"),
            ({"words": np.array(WORDS), "vectors": VECTORS.ravel()}, r"has vectors of shape \(15,\)"),
            ({"words": np.array(WORDS, dtype=object), "vectors": VECTORS}, "must hold the arrays"),
            ({"words": np.array(WORDS), "vectors": np.array(3.0)}, r"vectors of shape \(\)"),
            ({"words": np.array(b"a\nb"), "vectors": np.array(3.0)}, r"vectors of shape \(\)"),
        ],
    )
    def test_bad_arrays_are_refused(self, tmp_path, arrays, match):
        """Missing arrays, other shapes and pickled objects are refused."""
        is_refused(tmp_path, self.save(tmp_path, **arrays), match, "vectors.npz")

    @pytest.mark.parametrize("kind", ["random", "empty", "text", "array", "cut", "damaged"])
    def test_file_that_is_no_archive_is_refused(self, tmp_path, kind):
        """Garbage, an empty file, text, a single array, half an archive or a damaged one is refused."""
        whole = self.save(tmp_path, words=np.array(WORDS), vectors=VECTORS)
        np.savez_compressed(tmp_path / "c.npz", words=np.array(WORDS), vectors=np.zeros((5, 300)))
        packed = bytearray((tmp_path / "c.npz").read_bytes())
        packed[60:90] = bytes(255 - byte for byte in packed[60:90])
        np.save(tmp_path / "one.npy", VECTORS)
        content = {
            "random": np.random.default_rng(7).integers(256, size=5000, dtype=np.uint8).tobytes(),
            "empty": b"",
            "text": text(),
            "array": (tmp_path / "one.npy").read_bytes(),
            "cut": whole[: len(whole) // 2],
            "damaged": bytes(packed),
        }[kind]
        is_refused(tmp_path, content, "vectors.npz", "vectors.npz")


class TestFiles:
    """What is wrong with a file itself."""

    @pytest.mark.parametrize("name", ["words", "vectors"])
    @pytest.mark.parametrize("content", [b"\x93NUMPY\x01\x00v\x00{[[(" + b" " * 114, b"no array", b""], ids=repr)
    def test_members_that_are_no_arrays_are_refused(self, tmp_path, name, content):
        """A member without a header, or with one that cannot be read, is one line."""
        np.savez(tmp_path / "good.npz", words=np.array(WORDS), vectors=VECTORS)
        with zipfile.ZipFile(tmp_path / "good.npz") as good, zipfile.ZipFile(tmp_path / "bad.npz", "w") as bad:
            for member in good.namelist():
                bad.writestr(member, content if member == f"{name}.npy" else good.read(member))
        is_refused(tmp_path, (tmp_path / "bad.npz").read_bytes(), "must hold the arrays 'words'", "vectors.npz")

    @pytest.mark.parametrize("order", ["<", ">"])
    @pytest.mark.parametrize("is_list", [False, True])
    def test_characters_that_there_are_not_are_refused(self, tmp_path, order, is_list):
        """A number above the last character, in either byte order, is one line: no text can hold it."""
        text = np.array([0x110000, 0x61], dtype=f"{order}u4").view(f"{order}U1")
        words = text if is_list else text.view(f"{order}U2").reshape(())
        content = TestNpz.save(tmp_path, words=words, vectors=VECTORS[:2])
        is_refused(tmp_path, content, r"has words that are no text: character 1,114,112", "vectors.npz")

    @pytest.mark.parametrize("name", ["none.txt", "none.bin", "none.npz", "none.txt.gz"])
    def test_missing_file_is_refused(self, tmp_path, name):
        """A path without a file is refused by name, and so is a folder."""
        with pytest.raises(dn.InputError, match=f"No vector file .*{name}"):
            dn.Space.load(tmp_path / name)
        (tmp_path / name).mkdir()
        with pytest.raises(dn.InputError, match=f"No vector file .*{name}"):
            dn.Space.load(tmp_path / name)

    @pytest.mark.parametrize("kind", ["plain", "cut", "checksum", "damaged"])
    def test_broken_gzip_is_refused(self, tmp_path, kind):
        """A .gz file that is not compressed, ends early or is damaged is refused."""
        many = text([f"w{number}" for number in range(1500)], np.random.default_rng(0).normal(size=(1500, 3)))
        whole = bytearray(gzip.compress(many))
        if kind == "plain":
            whole = many
        elif kind == "cut":
            whole = whole[: len(whole) // 2]
        elif kind == "checksum":
            whole[-8:-4] = b"\0\0\0\0"
        else:
            middle = len(whole) // 2
            whole[middle : middle + 50] = bytes(255 - byte for byte in whole[middle : middle + 50])
        is_refused(tmp_path, bytes(whole), "vectors.txt.gz", "vectors.txt.gz")

    @pytest.mark.parametrize("limit", [0, -1, "3", 2.5, True])
    def test_bad_limit_is_refused(self, tmp_path, limit):
        """A limit that is no positive integer is refused."""
        with pytest.raises(dn.InputError, match="'limit' parameter"):
            load(tmp_path, text(), limit=limit)

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(content=st.binary(max_size=200), name=st.sampled_from(["f.txt", "f.bin", "f.npz", "f.txt.gz", "f.bin.gz"]))
    def test_any_bytes_are_read_or_refused(self, tmp_path, content, name):
        """Whatever a file holds, it is read or refused with one line, and nothing else happens."""
        assert len(message_or_words(tmp_path, content, name)) >= 1

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
    @given(place=st.integers(0, 500), byte=st.integers(0, 255), form=st.sampled_from(["txt", "bin", "npz", "txt.gz"]))
    def test_any_damaged_byte_is_read_or_refused(self, tmp_path, place, byte, form):
        """A good file with one byte changed is read or refused with one line."""
        content = bytearray(
            {
                "txt": lambda: text(header="5 3"),
                "bin": binary,
                "npz": lambda: TestNpz.save(tmp_path, words=np.array(WORDS), vectors=VECTORS),
                "txt.gz": lambda: gzip.compress(text()),
            }[form]()
        )
        content[place % len(content)] = byte
        assert len(message_or_words(tmp_path, bytes(content), f"f.{form}")) >= 1


class TestSizes:
    """Files that expand to more than they hold, or state more than they have, are refused at once."""

    def test_arrays_that_expand(self, tmp_path):
        """An .npz of some kilobytes does not become a quarter of a gigabyte of vectors."""
        np.savez_compressed(tmp_path / "a.npz", words=np.array(["a", "b"]), vectors=np.zeros((2, 1 << 23)))
        start = time.perf_counter()
        is_refused(tmp_path, (tmp_path / "a.npz").read_bytes(), "expand to 134,", "b.npz")
        assert time.perf_counter() - start < 1

    @pytest.mark.parametrize("name", ["words", "vectors"])
    @pytest.mark.parametrize("shape", ["(900000000000000000, 0)", "(1000000000000,)", "(" * 500, f"({10**600},)"])
    def test_headers_without_end(self, tmp_path, name, shape):
        """A shape that no file has takes neither memory nor time."""
        header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode()
        with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
            for member in ("words", "vectors"):
                array = io.BytesIO()
                np.save(array, np.array(["a", "b"]) if member == "words" else np.eye(2))
                hostile = b"\x93NUMPY\x01\0" + len(header).to_bytes(2, "little") + header
                archive.writestr(f"{member}.npy", hostile if member == name else array.getvalue())
        start = time.perf_counter()
        is_refused(tmp_path, (tmp_path / "a.npz").read_bytes(), "must hold the arrays", "b.npz")
        assert time.perf_counter() - start < 1

    @pytest.mark.parametrize("line", [b"0" * (1 << 24), b"a 1 2\n" * (1 << 22)])
    def test_text_that_expands(self, tmp_path, line):
        """A .gz of some kilobytes is read neither as one endless line nor as endless lines."""
        is_refused(
            tmp_path,
            gzip.compress(b"a 1 2\nb 3 4\n" + line, 1),
            "longer than any|expands to more",
            "v.txt.gz",
            limit=10**7,
        )

    def test_words_and_dimensions_without_end(self, tmp_path):
        """Neither a word of megabytes nor a number of dimensions that no file has is read."""
        is_refused(tmp_path, b"2 1\n" + b"a" * 20_000 + b" 0000", "a word of more than 10,000 bytes", "v.bin")
        is_refused(tmp_path, b"2 900000000\n", "does not begin with the word2vec header", "v.bin")
