"""The page of a service, in a real browser."""

import csv
import io
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from deniable.serve.limits import EPSILON_LADDER
from deniable.serve.page import PAGE_PATHS, build_policy
from tests.serve.browser import SECONDS, TOKEN, Watch, find_browser, run_service
from tests.text.helpers import SPACE

ROWS = [
    ("1", "The food, in London, was great", "red"),
    ("2", 'the dog said "good"\nand was bad', "blue"),
    ("3", "שלום paris food 👩‍👩‍👧 great", "red"),
    ("4", "<img src=x onerror=alert(1)> the cat", "blue"),
    ("5", "", "red"),
]


@pytest.fixture(scope="module")
def browser():
    """Return Chromium."""
    path = find_browser()
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=1000 * SECONDS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the folder in which services run, with a table."""
    folder = tmp_path_factory.mktemp("service")
    with (folder / "letters.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([("id", "letter", "colour"), *ROWS])
    return folder


@pytest.fixture(scope="module")
def address(folder):
    """Return the address of a service whose requests choose."""
    with run_service(folder) as address:
        yield address


@pytest.fixture(scope="module")
def fixed_address(folder):
    """Return the address of a service with one release and a token."""
    options = ("--epsilon", "2.5", "--mechanism", "tem", "--token-env", "PAGE_TOKEN")
    with run_service(folder, *options, variables={"PAGE_TOKEN": TOKEN}) as address:
        yield address


@pytest.fixture
def watch(address):
    """Return what fails the test where the browser does what it must not do."""
    watch = Watch(address)
    yield watch
    assert watch.faults == []


@pytest.fixture
def open_page(browser, watch):
    """Return a function that opens the page at a width, in a colour scheme."""
    contexts = []

    def opening(fragment="", width=1280, scheme="light", **settings):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **settings)
        contexts.append(context)
        context.set_default_timeout(1000 * SECONDS)
        page = context.new_page()
        watch.listen(page)
        page.goto(f"{watch.address}/{fragment}")
        return page

    yield opening
    for context in contexts:
        context.close()


def expect(place):
    from playwright.sync_api import expect

    return expect(place)


@pytest.fixture(scope="module")
def certificate(folder):
    """Return the certificate of a signed release, beside which table, signature and keys lie."""
    (folder / "released.csv").write_text("text\n" + "the good dog in london\n" * 3)
    release = ("privatize", "released.csv", "--epsilon", "2", "--space", "space.npz", "--hide", "places")
    for arguments in (("key", "--sign", "owner.key"), (*release, "--output", "out.csv", "--sign-key", "owner.key")):
        subprocess.run([sys.executable, "-m", "deniable", *arguments], cwd=folder, capture_output=True, check=True)
    return folder / "out.csv.certificate.json"


def privatize(page):
    """Privatize what stands on the page, and wait for it."""
    expect(page.locator("#try-epsilon")).to_be_enabled()
    page.get_by_role("button", name="Privatize").click()
    expect(page.locator("#try-status")).to_contain_text("privatized")


def open_table(page, folder, column="letter"):
    expect(page.locator("#try")).to_be_visible()
    page.set_input_files("#try-file", folder / "letters.csv")
    page.locator("#try-column").select_option(column)


def list_texts(page, name):
    """Return the shown texts, original or private."""
    return page.locator(f'#try-texts td[data-name="{name}"]').all_text_contents()


def test_files_are_all_there_and_load_nothing_else():
    """The page, its style and its scripts are files of the package, and refer to each other alone."""
    assert {"/", "/page.css", "/page.js", "/icon.svg"} <= PAGE_PATHS
    folder = Path(sys.modules["deniable.serve.page"].__file__).parent / "static"
    contents = {path.name: path.read_text("utf-8") for path in folder.iterdir()}
    assert {"/" if name == "index.html" else f"/{name}" for name in contents} == PAGE_PATHS
    for name, content in contents.items():
        links = re.findall(r"""(?:src|href|from|url)[\s=(]*["']([^"'#]+)["']""", content)
        assert {link.removeprefix("./") for link in links} <= set(contents), name
        addresses = set(re.findall(r"https?://[^\s\"']+", content))
        assert addresses <= {"http://www.w3.org/2000/svg"}, name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|localStorage", content)
        assert not re.search(r"\sstyle=|\son[a-z]+=", content), name


def test_the_policy_allows_nothing_from_elsewhere():
    """Every source is the service itself, or the hash of the style of a report; nothing is unsafe."""
    directives = dict(part.split(" ", 1) for part in build_policy().split("; "))
    assert directives["default-src"] == "'none'"
    for name in ("base-uri", "form-action", "frame-ancestors"):
        assert directives[name] == "'none'"
    assert directives["script-src"] == directives["connect-src"] == "'self'"
    assert re.fullmatch(r"'self' 'sha256-[\w+/]{43}='", directives["style-src"])
    assert "unsafe" not in build_policy()


def test_texts_are_privatized_and_marked(open_page):
    """Typed texts come out beside the originals; what became of a word is marked by lines, not by colour alone."""
    page = open_page()
    page.get_by_label("Texts, one a line").fill("the food in london was great\nzork and the dog")
    privatize(page)
    assert list_texts(page, "Original") == ["the food in london was great", "zork and the dog"]
    first, second = list_texts(page, "Private")
    assert (len(first.split()), len(second.split())) == (6, 4)
    expect(page.locator("#try-facts")).to_contain_text("1 word of places")
    expect(page.locator("#try-facts")).to_contain_text("the longest text, 6 words: epsilon")
    for kind, style in (("hidden", "double"), ("unknown", "dotted")):
        words = page.locator(f"#try-texts button.{kind}")
        assert words.count() == {"hidden": 1, "unknown": 2}[kind]
        line = words.first.evaluate("word => getComputedStyle(word).textDecoration")
        assert "underline" in line
        assert style in line
    name = page.locator("#try-texts button.hidden").get_attribute("aria-label")
    assert name.endswith("in place of london, hidden as one of places")


def test_the_slider_speaks_of_the_attacker(open_page):
    """Each step says how many words an attacker names, in words, and the share grows along the slider."""
    page = open_page()
    slider = page.get_by_label("How many words may an attacker name?")
    expect(slider).to_have_attribute("max", str(len(EPSILON_LADDER) - 1))
    shares = []
    slider.press("Home")
    for _ in EPSILON_LADDER:
        expect(page.locator("#try-promise")).to_have_text(
            re.compile("An attacker who sees a private word names about .*word")
        )
        note = page.locator("#try-epsilon-note").text_content()
        shares.append(float(re.search(r"names ([\d.]+) %", note)[1]))
        slider.press("ArrowRight")
    assert shares == sorted(shares)
    assert shares[0] < 40
    assert shares[-1] > 80
    assert re.fullmatch(r".*word.*, epsilon 20", slider.get_attribute("aria-valuetext"))


def test_a_word_opens_its_law(open_page):
    """A word shows the probabilities of its outputs, which the bars follow; Escape gives the focus back."""
    page = open_page()
    page.get_by_label("Texts, one a line").fill("the food in london")
    privatize(page)
    word = page.locator("#try-texts button.word").nth(1)
    word.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("heading")).to_have_text("What may come out for food")
    rows = dialog.locator("tbody tr").evaluate_all(
        "rows => rows.map(row => [parseFloat(row.cells[2].textContent), "
        "row.querySelector('.bar').getBoundingClientRect().width])"
    )
    assert len(rows) > 5
    assert 95 < sum(share for share, _ in rows) <= 100.5
    widths = [width / rows[0][1] for _, width in rows]
    assert widths == pytest.approx([share / rows[0][0] for share, _ in rows], abs=0.05)
    expect(dialog).to_contain_text("an attacker who knows the mechanism names")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(word).to_be_focused()


def test_any_word_can_be_looked_up(open_page):
    """A hidden word and an unknown one say how they are read."""
    page = open_page()
    expect(page.locator("#try-epsilon")).to_be_enabled()
    for word, said in (("Paris", "hidden as one of places"), ("זורק", "not in the vocabulary")):
        page.get_by_label("Word", exact=True).fill(word)
        page.get_by_role("button", name="Show what may come out").click()
        expect(page.get_by_role("dialog")).to_contain_text(said)
        page.get_by_role("button", name="Close").click()


def test_the_page_works_by_keyboard_alone(open_page):
    """The first stop skips to the content; arrow keys go from word to word, of which one is a stop; Enter opens it."""
    page = open_page()
    expect(page.locator("#try-epsilon")).to_be_enabled()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.get_by_label("Texts, one a line").fill("the food\nthe good dog")
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


def test_a_table_is_read_shown_and_downloaded(open_page, folder):
    """Cells with quotes, line breaks, other scripts and markup are texts; the download differs in the texts alone."""
    page = open_page()
    open_table(page, folder)
    privatize(page)
    assert list_texts(page, "Original") == [text for _, text, _ in ROWS]
    assert page.locator("#try-texts img").count() == 0
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the private table").click()
    assert download.value.suggested_filename == "letters.private.csv"
    with Path(download.value.path()).open(newline="", encoding="utf-8") as stream:
        header, *rows = csv.reader(stream)
    assert header == ["id", "letter", "colour"]
    assert [(row[0], row[2]) for row in rows] == [(row[0], row[2]) for row in ROWS]
    assert [row[1] for row in rows] == list_texts(page, "Private")
    assert rows[0][1] != ROWS[0][1]
    expect(page.locator("#try-download-note")).to_contain_text("copied unchanged: id, colour")


def test_the_command_runs_as_printed(open_page, folder):
    """The command that the page shows makes a private table of the same shape, at the epsilon that was chosen."""
    page = open_page()
    open_table(page, folder)
    privatize(page)
    words = shlex.split(page.locator("#try-command").text_content())
    assert words[:2] == ["deniable", "privatize"]
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    with (folder / "letters.private.csv").open(newline="", encoding="utf-8") as stream:
        assert [row[0] for row in csv.reader(stream)] == ["id", *(row[0] for row in ROWS)]
    certificate = json.loads((folder / "letters.private.csv.certificate.json").read_text("utf-8"))
    assert f"epsilon {certificate['mechanism']['epsilon']:g} for each word" in page.locator("#try-facts").text_content()


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
            return writeTable(table, column, listTexts(table, column));
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
        ("x.jsonl", '{"a": "b"}\n[1]\n', "Line 2 is no JSON object"),
        ("x.jsonl", "", "no rows"),
        ("x.csv", "text,text\na,b\n", 'Two columns are named "text"'),
        ("x.jsonl", '{"text": "a", "id": 12345678901234567890}\n', "Line 1 has a number too large"),
    ):
        assert said in page.evaluate(script, [name, text])


def test_a_thousand_rows_are_shown_a_page_at_a_time(open_page, tmp_path):
    """A long table stays quick: fifty rows stand in the document at a time, and the others are a key away."""
    (tmp_path / "long.csv").write_text("text\n" + "the good dog and the bad cat was red\n" * 1000)
    page = open_page()
    expect(page.locator("#try")).to_be_visible()
    page.set_input_files("#try-file", tmp_path / "long.csv")
    privatize(page)
    expect(page.locator("#try-status")).to_have_text("1,000 texts privatized.")
    assert page.locator("#try-texts tbody tr").count() == 50
    page.get_by_role("button", name="Next rows").click()
    expect(page.locator("#try-page")).to_have_text("Rows 51 to 100 of 1,000 rows")
    assert page.locator("#try-texts tbody th").first.text_content() == "51"


def test_a_fixed_service_shows_its_choice_and_asks_for_its_token(open_page, watch, fixed_address):
    """Without the token there is nothing but a field for it; then the release is named and cannot be changed."""
    watch.address, watch.allowed = fixed_address, "401"
    page = open_page()
    token = page.get_by_label("Token of this service")
    token.fill("wrong-token-wrong-token-wrong-token-")
    page.get_by_role("button", name="Use the token").click()
    expect(page.locator("#service-problem")).to_contain_text("must bear the token")
    token.fill(TOKEN)
    token.press("Enter")
    expect(page.get_by_role("heading", name="See what becomes of your texts")).to_be_visible()
    expect(page.locator("#try-fixed")).to_contain_text("one release: tem at epsilon 2.5")
    expect(page.locator("#try-choice")).to_be_hidden()
    privatize(page)
    expect(page.locator("#try-command")).to_contain_text(
        "--mechanism tem --epsilon 2.5 --space space.npz --hide places"
    )
    page.get_by_role("link", name="Measure").click()
    expect(page.locator("#measure-epsilons")).to_contain_text("one release: tem at epsilon 2.5")


def check_files(page, *paths):
    """Check some files on the page, and return the verdict in words."""
    expect(page.locator("#check")).to_be_visible()
    page.set_input_files("#check-file", paths)
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.locator("#check-status")).to_have_text("Checked.")
    return page.locator("#check-summary .verdict").text_content()


def test_a_certificate_is_read_and_checked(open_page, certificate, address):  # noqa: ARG001 - writes the space
    """What is promised stands at the top; every field is recomputed or stated; the signature covers the table too."""
    page = open_page("#check")
    verdict = check_files(page, certificate)
    assert "nothing contradicts the certificate" in verdict
    assert "unsigned" in verdict
    summary = page.locator("#check-summary")
    for label in ("guarantee", "unit", "adjacency", "verdict", "not protected", "attacker", "whole records"):
        expect(summary.locator("dt", has_text=re.compile(f"^{label}$"))).to_have_count(1)
    fields = json.loads(certificate.read_text("utf-8"))
    shown = page.locator("#check-fields tbody th").all_text_contents()
    assert {path.split(".")[0].split("[")[0] for path in shown} == set(fields)
    signature, key = certificate.with_name(f"{certificate.name}.sig"), certificate.with_name("owner.key.pub")
    assert "neither was changed" in check_files(page, signature, key, certificate.with_name("out.csv"))


def test_an_edit_is_found(open_page, certificate, tmp_path):
    """A certificate that promises more than its release keeps is contradicted, and so is its signature."""
    edited = json.loads(certificate.read_text("utf-8"))
    edited["guarantee"]["epsilon"] = 1.0
    (tmp_path / "edited.certificate.json").write_text(json.dumps(edited), "utf-8")
    page = open_page("#check")
    signature, key = certificate.with_name(f"{certificate.name}.sig"), certificate.with_name("owner.key.pub")
    verdict = check_files(page, tmp_path / "edited.certificate.json", signature, key)
    assert "Do not rely on this certificate" in verdict
    assert "invalid" in verdict
    bad = page.locator("#check-fields details").first
    expect(bad).to_have_attribute("open", "")
    expect(bad).to_contain_text("guarantee.epsilon")
    expect(bad).to_contain_text("recomputed: 2.0")


def test_what_is_no_certificate_is_refused_in_a_line(open_page, watch, tmp_path):
    """A file of another kind, one nested deeply and a missing one each give one line, and no check."""
    watch.allowed = "422"
    page = open_page("#check")
    expect(page.locator("#check")).to_be_visible()
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.locator("#check-problem")).to_contain_text("There is no certificate yet")
    for content, said in (("{}", "no certificate"), ("[" * 10_000, "deep"), ('{"a": 1, "a": 2}', "twice")):
        (tmp_path / "other.json").write_text(content)
        page.set_input_files("#check-file", tmp_path / "other.json")
        page.get_by_role("button", name="Check", exact=True).click()
        expect(page.locator("#check-problem")).to_contain_text(said)
        expect(page.locator("#check-result")).to_be_hidden()


def start_measuring(page, tmp_path, *, rows=24, left_out=(1, 3, 4, 6)):
    """Begin to measure a table, at the epsilons that the page proposes but for some."""
    texts = ("the dog and cat", "the food was good")
    lines = [f"{texts[row % 2]} {' '.join(SPACE.words[row % 7 : row % 11])},kind{row % 2}" for row in range(rows)]
    (tmp_path / "measured.csv").write_text("\n".join(["text,kind", *lines]) + "\n")
    expect(page.locator("#measure")).to_be_visible()
    page.set_input_files("#measure-file", tmp_path / "measured.csv")
    page.get_by_label("Column with classes").select_option("kind")
    for epsilon in left_out:
        page.locator("#measure-epsilons").get_by_label(f"{epsilon}", exact=True).uncheck()
    page.get_by_role("button", name="Measure", exact=True).click()


def test_a_table_is_measured_and_the_report_shown(open_page, tmp_path):
    """The report stands in a frame without scripts, in its own style, and can be downloaded as it is shown."""
    page = open_page("#measure")
    start_measuring(page, tmp_path)
    expect(page.locator("#measure-status")).to_have_text("Measured.")
    frame = page.frame_locator("#measure-report")
    expect(frame.get_by_role("heading", level=1)).to_have_text("What epsilon gives, and what it takes")
    expect(frame.locator("body")).to_contain_text("measured.csv --column text --label kind --mechanism")
    banner = frame.locator(".banner").evaluate("banner => getComputedStyle(banner).borderTopStyle")
    assert banner == "solid"
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the report").click()
    content = Path(download.value.path()).read_text("utf-8")
    assert content.startswith("<!DOCTYPE html>")
    assert "<script" not in content


def test_a_measurement_stops_and_makes_room(open_page, watch, tmp_path):
    """There is room for one: a second one is refused until the first is stopped, and then runs."""
    watch.allowed = "503"
    first, second = open_page("#measure"), open_page("#measure")
    start_measuring(first, tmp_path, rows=2000, left_out=())  # long enough to be stopped
    first.get_by_role("button", name="Measure", exact=True).click()  # which does not start another one
    expect(first.locator("#measure-status")).to_contain_text("(")
    expect(first.locator("#measure-problem")).to_be_hidden()
    start_measuring(second, tmp_path, rows=2000, left_out=())
    expect(second.locator("#measure-problem")).to_contain_text("room for one at a time")
    first.get_by_role("button", name="Stop").click()
    expect(first.locator("#measure-status")).to_have_text("Stopped.")
    for _ in range(100):  # until the process has ended
        second.get_by_role("button", name="Measure", exact=True).click()
        second.wait_for_timeout(200)
        if "(" in second.locator("#measure-status").text_content():
            break
    expect(second.locator("#measure-status")).to_contain_text("(")
    second.get_by_role("button", name="Stop").click()
    expect(second.locator("#measure-status")).to_have_text("Stopped.")


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


CONTRASTS = """() => {
    const parse = (text) => text.match(/[\\d.]+/g).map(Number);
    const weigh = (part) => (part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);
    const shine = ([red, green, blue]) => 0.2126 * weigh(red) + 0.7152 * weigh(green) + 0.0722 * weigh(blue);
    const findGround = (element) => {
        for (let place = element; place; place = place.parentElement) {
            const ground = parse(getComputedStyle(place).backgroundColor);
            if (ground.length === 3 || ground[3] === 1) return ground;
        }
        return [255, 255, 255];
    };
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        const text = walker.currentNode.textContent.trim();
        if (!text || !element.checkVisibility() || element.closest(":disabled")) continue;
        const shines = [shine(parse(getComputedStyle(element).color)), shine(findGround(element))];
        const contrast = (Math.max(...shines) + 0.05) / (Math.min(...shines) + 0.05);
        found.push([contrast, text.slice(0, 40)]);
    }
    return found;
}"""


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_every_part_fits_and_can_be_read(open_page, folder, certificate, width, scheme):
    """No part scrolls sideways, and all text has a contrast of at least 4.5 with what is behind it."""
    page = open_page(width=width, scheme=scheme)
    open_table(page, folder)
    privatize(page)
    measure = "() => document.documentElement.scrollWidth"
    assert page.evaluate(measure) <= width
    contrasts = page.evaluate(CONTRASTS)
    page.locator("#try-texts button.word").first.click()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert page.evaluate("() => document.querySelector('dialog').scrollWidth") <= width
    contrasts += page.evaluate(CONTRASTS)
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Check").click()
    check_files(page, certificate)
    for details in page.locator("#check-fields details").all():
        details.locator("summary").click()
    assert page.evaluate(measure) <= width
    contrasts += page.evaluate(CONTRASTS)
    page.get_by_role("link", name="Measure").click()
    assert page.evaluate(measure) <= width
    contrasts += page.evaluate(CONTRASTS)
    assert len(contrasts) > 100
    assert [entry for entry in contrasts if entry[0] < 4.5] == []


CONTROLS = {"button", "textbox", "combobox", "slider", "link", "checkbox", "dialog", "Iframe", "heading", "table"}


def list_controls(page):
    """Return role and name of every control in the accessibility tree, the file inputs among them."""
    nodes = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    shown = [node for node in nodes if not node["ignored"] and node["role"]["value"] in CONTROLS]
    return [(node["role"]["value"], node.get("name", {}).get("value", "").strip()) for node in shown]


def test_every_control_has_a_name(open_page, folder, certificate):
    """Programs that read the page aloud find landmarks, one first heading, and a name for each control."""
    page = open_page()
    open_table(page, folder)
    privatize(page)
    parts = {}
    parts["try"] = list_controls(page)
    page.locator("#try-texts button.word").first.click()
    parts["word"] = list_controls(page)
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Check").click()
    check_files(page, certificate)
    parts["check"] = list_controls(page)
    page.get_by_role("link", name="Measure").click()
    parts["measure"] = list_controls(page)
    for part, controls in parts.items():
        assert len(controls) > 3, part
        assert [control for control in controls if not control[1]] == [], part
    assert ("slider", "How many words may an attacker name?") in parts["try"]
    for role in ("banner", "navigation", "main", "contentinfo"):
        assert page.get_by_role(role).count() >= 1
    assert page.get_by_role("heading", level=1).count() == 1
    assert page.locator("html").get_attribute("lang") == "en"
    ids = page.locator("[id]").evaluate_all("elements => elements.map(element => element.id)")
    assert len(ids) == len(set(ids))
    expect(page.get_by_role("link", name="Measure")).to_have_attribute("aria-current", "page")


def test_motion_is_reduced_where_it_is_asked_for(open_page):
    """The page scrolls smoothly only where nobody minds."""
    styles = [
        open_page(reduced_motion=motion).evaluate("() => getComputedStyle(document.documentElement).scrollBehavior")
        for motion in ("reduce", "no-preference")
    ]
    assert styles == ["auto", "smooth"]


def test_a_service_that_ended_is_said_to_have(open_page, watch, tmp_path):
    """Where the service is gone, the page says so in a line and stays."""
    watch.allowed = "ERR_CONNECTION"
    with run_service(tmp_path) as address:
        watch.address = address
        page = open_page()
        expect(page.locator("#try-epsilon")).to_be_enabled()
        expect(page.locator("#try-ladder")).to_be_empty()
        expect(page.locator("#try-epsilon")).to_have_attribute("max", str(len(EPSILON_LADDER) - 1))
    page.get_by_role("button", name="Privatize").click()
    expect(page.locator("#try-problem")).to_contain_text("The service does not answer")
