"""Certificates and measurements on the page, and whether everybody can read it, in a real browser."""

import json
import re
from pathlib import Path

import pytest

from tests.serve.browser import check_files, expect, open_table, privatize
from tests.serve.helpers import SPACE

pytestmark = pytest.mark.deep


def test_a_certificate_is_read_and_checked(open_page, certificate):
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
    verdict = check_files(page, certificate.with_name("out.csv"))
    assert "agrees with the certificatenot authenticated" in verdict
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
    expect(frame.get_by_role("heading", level=1)).to_have_text("What to do with this table")
    expect(frame.locator("body")).to_contain_text("measured.csv --column text --label kind --mechanism")
    banner = frame.locator(".banner").evaluate("banner => getComputedStyle(banner).borderTopStyle")
    assert banner == "solid"
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the summary to sign").click()
    assert download.value.suggested_filename == "measure.summary.html"
    assert "summary for sign-off" in Path(download.value.path()).read_text("utf-8")
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


CONTROLS = {"button", "textbox", "combobox", "slider", "link", "checkbox", "dialog", "Iframe", "heading", "table"}


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_every_part_fits_and_can_be_read(open_page, folder, certificate, width, scheme):
    """No part scrolls sideways, all text has a contrast of at least 4.5, and each control a name to be read aloud."""
    page = open_page(width=width, scheme=scheme)
    session = page.context.new_cdp_session(page)

    def measure(element="document.documentElement"):
        assert page.evaluate(f"() => {element}.scrollWidth") <= width
        contrasts = page.evaluate(CONTRASTS)
        assert [entry for entry in contrasts if entry[0] < 4.5] == []
        return len(contrasts)

    def look(element="document.documentElement"):
        nodes = [node for node in session.send("Accessibility.getFullAXTree")["nodes"] if not node["ignored"]]
        controls = [node for node in nodes if node["role"]["value"] in CONTROLS]
        assert [node["role"] for node in controls if not node.get("name", {}).get("value", "").strip()] == []
        return measure(element) + len(controls)

    open_table(page, folder)
    privatize(page)
    seen = look()
    page.locator("#try-texts button.word").first.click()
    expect(page.get_by_role("dialog")).to_be_visible()
    seen += look("document.querySelector('dialog')")
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Check").click()
    check_files(page, certificate)
    seen += look()
    for details in page.locator("#check-fields details").all():
        details.locator("summary").click()
    seen += measure()
    page.get_by_role("link", name="Measure").click()
    assert seen + look() > 120
    assert page.get_by_role("heading", level=1).count() == 1
    for role in ("banner", "navigation", "main", "contentinfo"):
        assert page.get_by_role(role).count() >= 1
