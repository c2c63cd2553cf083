"""Pictures of the page of ``deniable serve`` for the docs, taken in a real browser with the default space.

    pip install playwright pillow                   # and a Chromium: apt-get install chromium
    python tools/page_pictures.py docs/figures

writes ``page_try.png`` and ``page_check.png``: the table that `docs/howto/page.md` privatizes, and its certificate.
Words are drawn anew each time. Whoever looks at the other parts, widths and colours runs it with ``--all FOLDER``.
"""

import argparse
import contextlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image

from deniable.serve.catalogue import EPSILON_LADDER

ROOT = Path(__file__).parents[1]
SECONDS = 600
COLOURS = 128
"""Colours of a picture: text on plain ground needs no more, and takes a third of the bytes."""


def read_table() -> str:
    """Return the table of the how-to page."""
    page = (ROOT / "docs" / "howto" / "page.md").read_text("utf-8")
    match = re.search(r'```csv title="letters.csv"\n(.*?)```', page, flags=re.DOTALL)
    if match is None:
        raise SystemExit("docs/howto/page.md has no table letters.csv")
    return match[1]


def run_command(folder: Path, *arguments: str) -> None:
    """Run deniable in a folder."""
    subprocess.run([sys.executable, "-m", "deniable", *arguments], cwd=folder, check=True)


@contextlib.contextmanager
def run_service(folder: Path) -> Iterator[str]:
    """Yield the address of a service with the default space."""
    command = [sys.executable, "-m", "deniable", "serve", "--port", "0"]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        try:
            for line in process.stderr or ():
                address = re.search(r"serving on (\S+);", line)
                if address:
                    yield address[1]
                    return
            raise SystemExit("the service did not start")
        finally:
            process.terminate()


def take_picture(page: Any, path: Path, height: int | None = None) -> None:  # noqa: ANN401 - playwright's own types
    """Write a picture of the page down to a height, in few colours; of what is seen of a report, not of all."""
    if page.locator("#measure").is_visible():
        page.screenshot(path=path)
    elif height is None:
        page.screenshot(path=path, full_page=True)
    else:
        clip = {"x": 0, "y": 0, "width": page.viewport_size["width"], "height": height}
        page.screenshot(path=path, clip=clip, full_page=True)
    with Image.open(path) as picture:
        picture.convert("RGB").quantize(COLOURS).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size:,} bytes")


def show_try(page: Any, folder: Path) -> None:  # noqa: ANN401
    """Privatize the table at the step of the slider that the how-to page chooses."""
    page.locator("#try").wait_for()
    page.set_input_files("#try-file", folder / "letters.csv")
    page.locator("#try-column").select_option("letter")
    page.locator("#try-ladder:empty").wait_for(state="attached")
    page.locator(f"#try-epsilon[max='{len(EPSILON_LADDER) - 1}']").wait_for()
    page.locator("#try-epsilon").fill(str(EPSILON_LADDER.index(2.0)))
    page.get_by_role("button", name="Privatize").click()
    page.locator("#try-result").wait_for()


def show_check(page: Any, folder: Path) -> None:  # noqa: ANN401
    """Check the signed certificate of the table."""
    page.get_by_role("link", name="Check").click()
    certificate = folder / "letters.private.csv.certificate.json"
    paths = [certificate, certificate.with_name(f"{certificate.name}.sig")]
    page.set_input_files("#check-file", [*paths, folder / "owner.key.pub", folder / "letters.private.csv"])
    page.get_by_role("button", name="Check", exact=True).click()
    page.locator("#check-result").wait_for()


def show_measure(page: Any, folder: Path) -> None:  # noqa: ANN401
    """Measure the table."""
    page.get_by_role("link", name="Measure").click()
    page.set_input_files("#measure-file", folder / "letters.csv")
    page.locator("#measure-column").select_option("letter")
    page.get_by_role("button", name="Measure", exact=True).click()
    page.locator("#measure-result").wait_for()
    page.locator("#measure-report").scroll_into_view_if_needed()
    page.frame_locator("#measure-report").locator("h1").wait_for()


def open_page(browser: Any, address: str, width: int, scheme: str) -> Any:  # noqa: ANN401
    """Return the page at a width, in a colour scheme."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.set_default_timeout(1000 * SECONDS)
    page.goto(address)
    return page


def take_pictures(output: Path, *, everything: bool) -> None:
    """Write the pictures of the docs, or of all parts at two widths in two colour schemes."""
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        (folder / "letters.csv").write_text(read_table(), "utf-8")
        run_command(folder, "key", "--sign", "owner.key")
        release = ("privatize", "letters.csv", "--column", "letter", "--epsilon", "2", "--mechanism", "calibrated")
        run_command(folder, *release, "--output", "letters.private.csv", "--sign-key", "owner.key")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        with run_service(folder) as address:
            page = open_page(browser, address, 1000, "light")
            show_try(page, folder)
            take_picture(page, output / "page_try.png", 1400)
            show_check(page, folder)
            take_picture(page, output / "page_check.png", 1400)
            for width, scheme in [(390, "light"), (390, "dark"), (1280, "light"), (1280, "dark")] if everything else []:
                page = open_page(browser, address, width, scheme)
                for part, show in (("try", show_try), ("check", show_check), ("measure", show_measure)):
                    show(page, folder)
                    take_picture(page, output / f"{part}-{width}-{scheme}.png")
        browser.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, help="folder of the pictures")
    parser.add_argument("--all", action="store_true", help="every part, at two widths, light and dark")
    given = parser.parse_args()
    take_pictures(given.output, everything=given.all)
