"""One column of texts, in whatever container it comes."""

import numpy as np
import pytest

from deniable import InputError
from deniable.core.identity import is_null
from deniable.text.columns import format_cell, format_name, read_identities, read_text_column


def reverse(container):
    """Return a container rebuilt with the letters of its texts reversed, and nulls as they were."""
    column = read_text_column("The test", container)
    return column.rebuild([cell if is_null(cell) else cell[::-1] for cell in column.cells])


@pytest.fixture
def pandas():
    return pytest.importorskip("pandas", reason="pandas is not installed")


@pytest.fixture
def polars():
    return pytest.importorskip("polars", reason="polars is not installed")


def test_lists_and_arrays():
    """Lists and other iterables give lists; arrays give arrays of their shape."""
    assert reverse(["ab", None, "cd"]) == reverse(iter(["ab", None, "cd"])) == ["ba", None, "dc"]
    for shape in ((2,), (2, 1)):
        array = reverse(np.array(["ab", "cd"]).reshape(shape))
        assert (array.shape, array.dtype, array.ravel().tolist()) == (shape, object, ["ba", "dc"])
    assert [reverse(np.empty(shape, dtype=object)).shape for shape in ((0,), (0, 1))] == [(0,), (0, 1)]


@pytest.mark.parametrize("kind", [None, "object", "str", "string", "string[pyarrow]", "arrow", "large"])
def test_pandas_series(pandas, kind):
    """Index, also a repeated one, name, type of texts and nulls of a series stay."""
    import pyarrow as pa

    arrow = {"arrow": pa.string(), "large": pa.large_string()}
    dtype = pandas.ArrowDtype(arrow[kind]) if kind in arrow else kind
    series = pandas.Series(["ab", None, "cd"], index=[7, 7, 3], name="note", dtype=dtype)
    wanted = pandas.Series(["ba", None, "dc"], index=[7, 7, 3], name="note", dtype=dtype)
    pandas.testing.assert_series_equal(reverse(series), wanted)
    pandas.testing.assert_series_equal(reverse(series[:0]), wanted[:0])


def test_nulls_of_an_object_column_stay_as_they_are(pandas):
    """Each kind of null in a column of objects comes out as it went in."""
    out = reverse(pandas.Series([None, np.nan, pandas.NA, "ab"], dtype=object))
    assert out[0] is None
    assert isinstance(out[1], float)
    assert out[2] is pandas.NA
    assert reverse(pandas.Series([np.nan, np.nan])).isna().all()


def test_pandas_frames(pandas):
    """A frame of one column gives a frame with its columns, also where these have several levels."""
    frame = pandas.DataFrame({"note": ["ab", None]}, index=["x", "y"])
    wanted = pandas.DataFrame({"note": ["ba", None]}, index=["x", "y"])
    pandas.testing.assert_frame_equal(reverse(frame), wanted)
    levels = pandas.MultiIndex.from_tuples([("a", "note")], names=["room", "column"])
    frame.columns = wanted.columns = levels
    pandas.testing.assert_frame_equal(reverse(frame), wanted)
    pandas.testing.assert_frame_equal(reverse(frame[:0]), wanted[:0])


def test_a_category_becomes_plain_text(pandas, polars):
    """No list of categories, which holds the private texts, goes with what comes out."""
    import pyarrow as pa

    texts = ["ab", None, "ab"]
    arrow_dictionary = pandas.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))
    for dtype in (pandas.CategoricalDtype(["ab", "never seen"]), arrow_dictionary):
        out = reverse(pandas.Series(texts, dtype=dtype, name="note"))
        assert out.dropna().tolist() == ["ba", "ba"]
        assert out.dtype == pandas.Series(["ba", None, "ba"]).dtype  # what this version of pandas holds texts in
        assert not hasattr(out, "cat")
    for dtype in (polars.Categorical, polars.Enum(["ab", "never seen"])):
        out = reverse(polars.Series("note", texts, dtype=dtype))
        assert (out.dtype, out.to_list()) == (polars.String, ["ba", None, "ba"])


def test_what_a_series_says_of_itself_does_not_come_out(pandas):
    """The attributes of a series and a frame, which may quote private texts, are dropped."""
    series = pandas.Series(["ab"], name="note")
    series.attrs["first"] = "ab"
    assert reverse(series).attrs == {}
    assert reverse(series.to_frame()).attrs == {}


def test_polars(polars):
    """Series and frames of one column of polars come out as such, with name and nulls."""
    series = polars.Series("note", ["ab", None])
    assert reverse(series).equals(polars.Series("note", ["ba", None]), check_names=True)
    assert reverse(series.to_frame()).equals(polars.DataFrame({"note": ["ba", None]}))
    for empty in (series[:0], series[1:], polars.Series("note", [])):
        out = reverse(empty)
        assert (out.name, out.dtype, out.to_list()) == ("note", polars.String, empty.to_list())


def test_several_columns_are_refused(pandas, polars):
    """A table of more or less than one column is refused, with the names of its columns."""
    columns = {name: ["the"] for name in "abcdefg"}
    for frame in (pandas.DataFrame(columns), polars.DataFrame(columns)):
        with pytest.raises(
            InputError, match=r"Owner takes one column of texts. Got 7 \('a', 'b', 'c', 'd', 'e', \.\.\.\)"
        ):
            read_text_column("Owner", frame)
    for frame in (pandas.DataFrame(), polars.DataFrame()):
        with pytest.raises(InputError, match=r"Owner takes one column of texts. Got none\.$"):
            read_text_column("Owner", frame)


def test_what_is_no_column_is_refused(polars):
    """Dictionaries, sets, single values and lazy frames are refused by the name of their class."""
    for wrong in ({"text": ["the"]}, {"the"}, "the", b"the", 5, None, polars.LazyFrame({"text": ["the"]})):
        with pytest.raises(InputError, match=f"of texts. Got one {type(wrong).__name__}\\.$"):
            read_text_column("Owner", wrong)


def test_a_class_with_the_name_of_a_null_is_none():
    """A null passes as it is, so what only bears the name of pandas' null must not."""
    kind = type("NAType", (), {})
    assert not is_null(kind())


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (1, "1"),
        (1.0, "1"),
        (np.float32(1), "1"),
        (np.int64(1), "1"),
        (-0.0, "0"),
        (2.5, "2.5"),
        (1e300, "1e+300"),
        (float("inf"), "inf"),
        (True, "true"),
        (np.False_, "false"),
        ("1.0", "1.0"),
        ("True", "True"),
        (" a ", " a "),
        ("", ""),
    ],
)
def test_cells_as_a_csv_shows_them(cell, text):
    """Whole numbers have no fraction, truth values are as in JSON, and a text is itself."""
    assert format_cell(cell) == text


def test_names():
    """White space around is no part of a name, and a null or blank cell is none."""
    assert [format_name(cell) for cell in (" ann\t", 7.0, "7", 0, False)] == ["ann", "7", "7", "0", "false"]
    assert [format_name(cell) for cell in (None, float("nan"), "", " \n")] == [None] * 4


def test_identities_of_a_column_are_judged_by_its_type(pandas, polars):
    """A column of floats of 32 bits cannot tell integers from 2^24 on, whatever its container makes of its cells."""
    for kind, limit in (("float16", 2**11), ("float32", 2**24), ("float64", 2**53)):
        for number, is_told in ((limit - 1, True), (limit, False)):
            array = np.array([number, np.nan], dtype=kind)
            containers = [array, array.reshape(-1, 1), pandas.Series(array)]
            if kind != "float16":
                categories = pandas.Series(array[:1]).astype("category")
                containers += [categories, pandas.Series([number, None], dtype=kind.title()), pandas.Index(array)]
                containers += [
                    pandas.DataFrame({"a": array}),
                    polars.Series("a", array),
                    polars.DataFrame({"a": array}),
                ]
            for container in containers:
                if is_told:
                    assert read_identities("Ids", container)[0] == str(number)
                    continue
                with pytest.raises(InputError, match=r"^Ids: .*Got "):
                    read_identities("Ids", container)
