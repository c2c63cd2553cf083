"""Texts come out in the container that they came in; ids and persons are judged by the column that they stand in."""

import numpy as np
import pytest

import deniable as dn
from tests.refusals import refuses
from tests.text.helpers import MECHANISM

pytest.importorskip("sklearn", reason="scikit-learn is not installed")
PRIVATIZER = dn.TextPrivatizer(MECHANISM, key="seed:1")
TEXTS = ["the food", None, "London"]
PRIVATE = PRIVATIZER.transform(TEXTS)


@pytest.fixture
def pandas():
    return pytest.importorskip("pandas", reason="pandas is not installed")


@pytest.fixture
def polars():
    return pytest.importorskip("polars", reason="polars is not installed")


def test_lists_and_arrays():
    """Lists and other iterables give lists; arrays give arrays of their shape; null and empty texts stay."""
    assert [type(text) for text in PRIVATE] == [str, type(None), str]
    assert PRIVATIZER.transform(tuple(TEXTS)) == PRIVATIZER.transform(iter(TEXTS)) == PRIVATE
    for shape in ((3,), (3, 1)):
        array = PRIVATIZER.transform(np.array(TEXTS, dtype=object).reshape(shape))
        assert (array.shape, array.dtype, array.ravel().tolist()) == (shape, object, PRIVATE)
    assert PRIVATIZER.transform(np.array(["the", "a"])).dtype == object
    assert [PRIVATIZER.transform(np.empty(shape, dtype=object)).shape for shape in ((0,), (0, 1))] == [(0,), (0, 1)]
    assert PRIVATIZER.transform([]) == []
    assert PRIVATIZER.transform(["", " ?!"]) == ["", " ?!"]


@pytest.mark.parametrize("kind", [None, "object", "str", "string", "arrow", "large"])
def test_pandas_series(pandas, kind):
    """Index, also a repeated one, name, type of texts and nulls of a series stay."""
    import pyarrow as pa

    arrow = {"arrow": pa.string(), "large": pa.large_string()}
    dtype = pandas.ArrowDtype(arrow[kind]) if kind in arrow else kind
    series, wanted = (pandas.Series(texts, index=[7, 7, 3], name="note", dtype=dtype) for texts in (TEXTS, PRIVATE))
    pandas.testing.assert_series_equal(PRIVATIZER.transform(series), wanted)
    pandas.testing.assert_series_equal(PRIVATIZER.transform(series[:0]), wanted[:0])


def test_nulls_of_an_object_column_stay_as_they_are(pandas):
    """Each kind of null in a column of objects comes out as it went in; what only bears its name is none."""
    out = PRIVATIZER.transform(pandas.Series([None, np.nan, pandas.NA, "the"], dtype=object))
    assert out[0] is None
    assert isinstance(out[1], float)
    assert out[2] is pandas.NA
    assert PRIVATIZER.transform(pandas.Series([np.nan, np.nan])).isna().all()
    with refuses("NAType"):
        PRIVATIZER.transform([type("NAType", (), {})()])


def test_pandas_frames(pandas):
    """A frame of one column gives a frame with its columns, also where these have several levels; attributes go."""
    frame, wanted = (pandas.DataFrame({"note": texts}, index=["x", "y", "z"]) for texts in (TEXTS, PRIVATE))
    pandas.testing.assert_frame_equal(PRIVATIZER.transform(frame), wanted)
    levels = pandas.MultiIndex.from_tuples([("a", "note")], names=["room", "column"])
    frame.columns = wanted.columns = levels
    frame.attrs["first"] = "the food"
    for first in (0, 3):
        out = PRIVATIZER.transform(frame[first:])
        pandas.testing.assert_frame_equal(out, wanted[first:])
        assert out.attrs == {}


def test_a_category_becomes_plain_text(pandas, polars):
    """No list of categories, which holds the private texts, goes with what comes out."""
    import pyarrow as pa

    categories = ["the food", "London", "never seen"]
    for dtype in (pandas.CategoricalDtype(categories), pandas.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))):
        out = PRIVATIZER.transform(pandas.Series(TEXTS, dtype=dtype, name="note"))
        assert out.dtype == pandas.Series(PRIVATE).dtype  # what this version of pandas holds texts in
        assert (out.name, [text if isinstance(text, str) else None for text in out]) == ("note", PRIVATE)
    for dtype in (polars.Categorical, polars.Enum(categories)):
        out = PRIVATIZER.transform(polars.Series("note", TEXTS, dtype=dtype))
        assert out.equals(polars.Series("note", PRIVATE, dtype=polars.String), check_dtypes=True, check_names=True)


def test_polars(polars):
    """Series and frames of one column of polars come out as such, with name and nulls."""
    series, wanted = (polars.Series("note", texts) for texts in (TEXTS, PRIVATE))
    assert PRIVATIZER.transform(series).equals(wanted, check_names=True)
    assert PRIVATIZER.transform(series.to_frame()).equals(wanted.to_frame())
    for empty in (series[:0], series[1:2], polars.Series("note", [])):
        out = PRIVATIZER.transform(empty)
        assert (out.name, out.dtype, out.to_list()) == ("note", polars.String, empty.to_list())


def test_what_is_no_column_of_texts_is_refused(pandas, polars):
    """More or less than one column, what is no collection, and cells that are no texts are named."""
    columns = {name: ["the"] for name in "abcdefg"}
    cases = [(frame.DataFrame(columns), "'e'") for frame in (pandas, polars)]
    cases += [(frame.DataFrame(), "none") for frame in (pandas, polars)]
    cases += [({"text": ["the"]}, "dict"), ({"the"}, "set"), ("the", "str"), (b"the", "bytes"), (5, "int")]
    cases += [(None, "NoneType"), (polars.LazyFrame({"text": ["the"]}), "LazyFrame"), (["the", 5], "row 1")]
    cases += [([b"the"], "row 0"), (["the", None, 3.5], "row 2"), (np.array([["the", "food"]]), "2")]
    cases += [(np.array([[["the"]]]), "(1, 1, 1)")]
    for texts, value in cases:
        with refuses(value):
            PRIVATIZER.transform(texts)


def test_batches_take_columns_too(pandas):
    """A series and a data frame of one column are read cell by cell; several columns, and numbers, are refused."""
    frame = pandas.DataFrame({"note": TEXTS, "stars": [1, 2, 3]})
    release = dn.Release(MECHANISM, key="seed:1")
    for column in (frame["note"], frame[["note"]], frame[["note"]].to_numpy()):
        assert release.batch(column) == release.batch(TEXTS)
    for texts, value in ((frame, "'stars'"), (frame["stars"], "row 0")):
        with refuses(value):
            release.batch(texts)


def test_ids_are_identities(pandas, polars):
    """Ids are texts or whole numbers of any ordered collection; floats tell integers apart up to what they hold."""
    release = dn.Release(MECHANISM, key="seed:1")
    expected = release.batch(["the food"] * 4, ["a", "7", "8", "9"])
    assert release.batch(["the food"] * 4, ["a", 7, np.int64(8), 9.0]) == expected
    for kind, limit in (("float16", 2**11), ("float32", 2**24), ("float64", 2**53)):
        plain = release.batch(["the food"], [limit - 1])
        told, untold = (
            list_containers(pandas, polars, np.array([number], dtype=kind)) for number in (limit - 1, limit)
        )
        for container in told:
            assert release.batch(["the food"], container) == plain
        for container in untold:
            with refuses("Record ids"):
                release.batch(["the food"], container)
    for frame in (pandas, polars):
        assert release.batch(["the"], frame.DataFrame({"id": ["r7"]})) == release.batch(["the"], ["r7"])
        with refuses("Got 2"):
            release.batch(["the"], frame.DataFrame({"id": ["r7"], "other": ["r8"]}))


def list_containers(pandas, polars, array):
    """Return an array of floats in every container that holds its type."""
    containers = [array, array.reshape(-1, 1), pandas.Series(array)]
    if array.dtype == np.float16:
        return containers
    containers += [
        pandas.Series(array).astype("category"),
        pandas.Series(array.tolist(), dtype=array.dtype.name.title()),
    ]
    return [*containers, pandas.Index(array), polars.Series("a", array)]
