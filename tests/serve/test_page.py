"""The page of a service, and how it is used in a real browser."""

import contextlib
import csv
import io
import json
import re
import shlex
from pathlib import Path

import pytest

import deniable as dn
from tests.commands import run
from tests.serve.browser import expect, open_table, privatize
from tests.serve.conftest import ROWS
from tests.serve.helpers import TOKEN, run_service

deep = pytest.mark.deep


def test_files_are_all_there_and_load_nothing_else(fixed):
    """The page, its style and its scripts are files of the package, served without a token, and load nothing else."""
    folder = Path(dn.__file__).parent / "serve" / "static"
    contents = {path.name: path.read_text("utf-8") for path in folder.iterdir()}
    assert {"index.html", "page.css", "page.js", "icon.svg"} <= set(contents)
    for name, content in contents.items():
        answer = fixed.get("/" if name == "index.html" else f"/{name}")
        assert answer.text == content
        assert (answer.headers["x-content-type-options"], answer.headers["cache-control"]) == ("nosniff", "no-store")
        links = re.findall(r"""(?:src|href|from|url)[\s=(]*["']([^"'#]+)["']""", content)
        assert {link.removeprefix("./") for link in links} <= set(contents), name
        addresses = set(re.findall(r"https?://[^\s\"']+", content))
        assert addresses <= {"http://www.w3.org/2000/svg"}, name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|localStorage", content)
        assert not re.search(r"\sstyle=|\son[a-z]+=", content), name
    assert fixed.get("/page.js").headers["content-type"] == "text/javascript; charset=utf-8"


def test_the_policy_allows_nothing_from_elsewhere(fixed):
    """Every source is the service itself, or the hash of the style of a report; nothing is unsafe."""
    policy = fixed.get("/").headers["content-security-policy"]
    directives = dict(part.split(" ", 1) for part in policy.split("; "))
    for name in ("default-src", "base-uri", "form-action", "frame-ancestors"):
        assert directives[name] == "'none'"
    assert directives["script-src"] == directives["connect-src"] == "'self'"
    assert re.fullmatch(r"'self' 'sha256-[\w+/]{43}='", directives["style-src"])
    assert "unsafe" not in policy


def list_texts(page, name):
    """Return the shown texts, original or private."""
    return page.locator(f'#try-texts td[data-name="{name}"]').all_text_contents()


@deep
def test_texts_are_privatized_and_marked(open_page):
    """Typed texts come out beside the originals; what became of a word is marked by lines, not by colour alone."""
    page = open_page()
    page.get_by_label("Texts, one per line").fill("the food in london was great\nzork and the dog")
    privatize(page)
    assert list_texts(page, "Original") == ["the food in london was great", "zork and the dog"]
    first, second = list_texts(page, "Private")
    assert (len(first.split()), len(second.split())) == (6, 4)
    expect(page.locator("#try-facts")).to_contain_text("1 word of places")
    expect(page.locator("#try-facts")).to_contain_text("the longest text, 6 words: epsilon")
    expect(page.locator("#try-verdict.caution")).to_contain_text("Each word is protected; whole texts are not.")
    for kind, style in (("hidden", "double"), ("unknown", "dotted")):
        words = page.locator(f"#try-texts button.{kind}")
        assert words.count() == {"hidden": 1, "unknown": 2}[kind]
        line = words.first.evaluate("word => getComputedStyle(word).textDecoration")
        assert "underline" in line
        assert style in line
    name = page.locator("#try-texts button.hidden").get_attribute("aria-label")
    assert name.endswith("in place of london, hidden as one of places")


@deep
def test_the_slider_speaks_of_the_attacker(open_page):
    """Each step says how many words an attacker guesses, in words, and the share grows along the slider."""
    page = open_page()
    slider = page.get_by_label("How many words may an attacker guess?")
    expect(slider).to_have_attribute("max", "15")
    expect(slider).to_have_value("0")  # the strongest step is offered until another one is chosen
    shares = []
    for _ in range(15):
        expect(page.locator("#try-promise")).to_contain_text("An attacker who sees the private words guesses about ")
        note = page.locator("#try-epsilon-note").text_content()
        shares.append(float(re.search(r"right for ([\d.]+) ?%", note)[1]))
        slider.press("ArrowRight")
    assert shares == sorted(shares)
    assert shares[0] < 40
    assert shares[-1] > 80
    expect(page.locator("#try-promise.weak")).to_contain_text("That is weak protection.")
    assert re.fullmatch(r".*word.*, epsilon 20", slider.get_attribute("aria-valuetext"))


@deep
def test_a_word_opens_its_law(open_page):
    """A word shows the probabilities of its outputs, which the bars follow; Escape gives the focus back."""
    page = open_page()
    page.get_by_label("Texts, one per line").fill("the food in london")
    privatize(page)
    word = page.locator("#try-texts button.word").nth(1)
    word.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("heading")).to_have_text("What may replace food")
    rows = dialog.locator("tbody tr").evaluate_all(
        "rows => rows.map(row => [parseFloat(row.cells[2].textContent), "
        "row.querySelector('.bar').getBoundingClientRect().width])"
    )
    assert len(rows) > 5
    assert 95 < sum(share for share, _ in rows) <= 100.5
    widths = [width / rows[0][1] for _, width in rows]
    assert widths == pytest.approx([share / rows[0][0] for share, _ in rows], abs=0.05)
    expect(dialog).to_contain_text("the best guess from one output word is right for")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(word).to_be_focused()
    for word, said in (("Paris", "words of the class places"), ("זורק", "not in the vocabulary")):
        page.get_by_label("Word", exact=True).fill(word)
        page.get_by_role("button", name="Show what may replace it").click()
        expect(dialog).to_contain_text(said)
        page.get_by_role("button", name="Close").click()


@deep
def test_the_page_works_by_keyboard_alone(open_page):
    """The first stop skips to the content; arrow keys go from word to word, of which one is a stop; Enter opens it."""
    page = open_page()
    expect(page.locator("#try-epsilon")).to_be_enabled()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.get_by_label("Texts, one per line").fill("the food\nthe good dog")
    page.get_by_role("button", name="Privatize").press("Enter")
    expect(page.locator("#try-result-title")).to_be_focused()
    page.keyboard.press("Tab")
    words = page.locator("#try-texts button.word")
    expect(words.nth(0)).to_be_focused()
    for key, place in (("ArrowRight", 1), ("ArrowDown", 2), ("ArrowLeft", 1), ("End", 4), ("ArrowUp", 0), ("Home", 0)):
        page.keyboard.press(key)
        expect(words.nth(place)).to_be_focused()
        assert page.locator("#try-texts button.word[tabindex='0']").count() == 1
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Download the private table")).to_be_focused()


@deep
def test_a_table_is_read_shown_and_downloaded(open_page, folder):
    """Cells with quotes, line breaks, other scripts and markup are texts; download and command change texts alone."""
    page = open_page()
    open_table(page, folder)
    privatize(page)
    assert list_texts(page, "Original") == [text for _, text, _ in ROWS]
    assert page.locator("#try-texts img").count() == 0
    expect(page.locator("#try-command")).to_contain_text("--columns ''")  # no other column leaves unasked
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the private table").click()
    assert Path(download.value.path()).read_text("utf-8").startswith("letter\n")
    page.get_by_label("colour", exact=True).check()
    expect(page.locator("#try-command")).to_contain_text("--columns colour")
    page.get_by_label("id", exact=True).check()
    expect(page.locator("#try-download-note")).to_contain_text("Copied unchanged, and not protected: id, colour")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the private table").click()
    assert download.value.suggested_filename == "letters.private.csv"
    with Path(download.value.path()).open(newline="", encoding="utf-8") as stream:
        header, *rows = csv.reader(stream)
    assert header == ["id", "letter", "colour"]
    assert [(row[0], row[2]) for row in rows] == [(row[0], row[2]) for row in ROWS]
    assert [row[1] for row in rows] == list_texts(page, "Private")
    assert rows[0][1] != ROWS[0][1]
    words = shlex.split(page.locator("#try-command").text_content())  # a table of the same shape, at the same epsilon
    with contextlib.chdir(folder):
        assert run(*words[1:]).code == 0
    with (folder / "letters.private.csv").open(newline="", encoding="utf-8") as stream:
        assert [row[0] for row in csv.reader(stream)] == ["id", *(row[0] for row in ROWS)]
    certificate = json.loads((folder / "letters.private.csv.certificate.json").read_text("utf-8"))
    assert f"epsilon {certificate['mechanism']['epsilon']:g} for each word" in page.locator("#try-facts").text_content()


@deep
def test_tables_are_read_as_programs_write_them(open_page):
    """Every format comes back byte for byte where no text changes, and what is wrong with a file is said in a line."""
    page = open_page()
    written = {
        "a.csv": 'id,text\r\n1,"a ""b"", c"\r\n2,\r\n',
        "b.tsv": "text\tn\nx, y\t1\n\t2\n",
        "c.csv": 'text;n\n"a;b";1\n',
        "d.jsonl": '{"text":"a\\nb","n":[1]}\n{"text":null,"n":2}\n',
        "e.txt": "one\n\ntwo\n",
        "f.jsonl": '{"text":"a","constructor":"b"}\n{"text":"c"}\n',
    }
    script = """async ([name, text]) => {
        const { readTable, writeTable, listTexts, guessTextColumn } = await import("/tables.js");
        try {
            const table = await readTable(new File([text], name));
            const column = guessTextColumn(table);
            return writeTable(table, column, listTexts(table, column), table.columns);
        } catch (error) { return error.message; }
    }"""
    for name, text in written.items():
        comma = ";" if name == "c.csv" else ","
        back = page.evaluate(script, [name, text])
        if name.endswith(".csv"):
            parse = lambda content: list(csv.reader(io.StringIO(content), delimiter=comma))  # noqa: B023, E731
            assert parse(back) == parse(text.replace("\r\n", "\n"))
        else:
            assert back == text
    for name, text, said in (
        ("x.pdf", "a", "must end in .csv"),
        ("x.csv", "a,b\n1\n", "Row 1 has 1 cells, the header 2"),
        ("x.csv", 'a\n"b"c\n', "has a quote inside a cell"),
        ("x.csv", 'id,text\n"1,a\n2",b\n', 'A quoted cell of "id" spans lines that would be rows of their own'),
        ("x.csv", "a\n", "no rows"),
        ("x.jsonl", '{"a": "b"}\n[1]\n', "Line 2 is not a JSON object"),
        ("x.jsonl", "", "no rows"),
        ("x.csv", "text,text\na,b\n", 'Two columns are named "text"'),
        ("x.jsonl", '{"text": "a", "id": 12345678901234567890}\n', "Line 1 has a number too large"),
    ):
        assert said in page.evaluate(script, [name, text])


@deep
def test_a_fixed_service_shows_its_choice_and_asks_for_its_token(open_page, watch, folder):
    """Without the token there is but a field for it, then the release is named; the end of the service is said."""
    options = ("--hide", "places", "--epsilon", "2.5", "--mechanism", "tem", "--token-env", "PAGE_TOKEN")
    with run_service(folder, *options, variables={"PAGE_TOKEN": TOKEN}) as (_, watch.address):
        # A request that is on its way as the service ends may be refused, cut off, or find nothing there.
        watch.allowed = "401|503|net::ERR_"
        page = open_page()
        token = page.get_by_label("Token of this service")
        token.fill("wrong-token-wrong-token-wrong-token-")
        page.get_by_role("button", name="Use the token").click()
        expect(page.locator("#service-problem")).to_contain_text("must carry the token")
        token.fill(TOKEN)
        token.press("Enter")
        expect(page.get_by_role("heading", name="See what becomes of your texts")).to_be_visible()
        expect(page.locator("#try-fixed")).to_contain_text("always uses tem at epsilon 2.5")
        expect(page.locator("#try-choice")).to_be_hidden()
        privatize(page)
        command = "--mechanism tem --epsilon 2.5 --space space.npz --hide places"
        expect(page.locator("#try-command")).to_contain_text(command)
        page.get_by_role("link", name="Measure").click()
        expect(page.locator("#measure-epsilons")).to_contain_text("always uses tem at epsilon 2.5")
        page.get_by_role("link", name="Try").click()
    page.get_by_role("button", name="Privatize").click()
    expect(page.locator("#try-problem")).to_contain_text("The service does not answer")


@deep
def test_nothing_is_stored(open_page, folder):
    """After use there is nothing of the texts in the browser's stores or the address, nor after a reload."""
    page = open_page()
    open_table(page, folder)
    privatize(page)
    stored = page.evaluate(
        "async () => [localStorage.length, sessionStorage.length, document.cookie, (await caches.keys()).length, "
        "(await indexedDB.databases()).length]"
    )
    assert stored == [0, 0, "", 0, 0]
    assert page.url.rstrip("#").endswith("/")
    page.reload()
    expect(page.locator("#try-result")).to_be_hidden()
    assert "London" not in page.content()
