"""Plain text: every line is a record."""

from hypothesis import given
from hypothesis import strategies as st

from tests.text.tables.helpers import constant, dropping, few, giving, recording, rewritten

ODD_BODIES = st.sampled_from(["the food", "a\rb", "\r", "\u2028", "\x85", '"a'])
BODIES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"), max_size=6) | ODD_BODIES


@st.composite
def files(draw):
    """Return a mark, and lines as pairs of body and end."""
    line = st.tuples(BODIES.filter(lambda b: not b.endswith("\r")), st.sampled_from(["\n", "\r\n"]))
    lines = draw(st.lists(line, min_size=1, max_size=6))
    if draw(st.booleans()) and lines[-1][0]:
        lines[-1] = (lines[-1][0], "")
    mark = draw(st.sampled_from(["", "\ufeff"])) or ("\ufeff" if lines[0][0].startswith("\ufeff") else "")
    return mark, lines


def render(file, release=lambda text: text):
    return (file[0] + "".join(release(body) + end for body, end in file[1])).encode()


@few
@given(files(), st.integers(1, 7), st.sampled_from([0, 5, 40]))
def test_only_lines_change(file, chunk, window):
    """Every line is released by itself and keeps its end, whatever is read at a time."""
    chunk = max(chunk, 3) if file[0] else chunk
    seen = []
    assert rewritten("txt", render(file)) == (render(file), [])
    out, _ = rewritten("txt", render(file), recording(seen, constant("new é")), chunk, window)
    assert out == render(file, lambda body: "new é" if body else "")
    assert [row.cells for row in seen] == [[("text", body)] for body, _ in file[1]]


def test_lines_as_they_are():
    """A mark, CRLF, blank lines and a missing last line end stay; a line may lose every word, or be left out."""
    out, _ = rewritten("txt", b"\xef\xbb\xbfone\r\n\n\r\ntwo\x0bthree\rfour\n five", constant("x"))
    assert out == b"\xef\xbb\xbfx\r\n\n\r\nx\nx"
    assert rewritten("txt", b"secret\nsecret", giving(lambda rows: ["" for _ in range(len(rows))]))[0] == b"\n"
    assert rewritten("txt", b"a\r\nsecret\nb", dropping(lambda row: row.cells[0][1] == "secret"))[0] == b"a\r\nb"
