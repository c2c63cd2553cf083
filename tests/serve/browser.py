"""What a browser must not do, and what tests of the page do on it."""

import dataclasses
import re
import urllib.parse


def expect(place):
    from playwright.sync_api import expect

    return expect(place)


@dataclasses.dataclass
class Watch:
    """What a browser did that it must not do.

    Attributes:
        address: of the service.
        allowed: pattern of console errors that a test expects.
        faults: requests to other hosts, console errors, among them violations of the policy, and exceptions.
    """

    address: str
    allowed: str = "$^"
    faults: list = dataclasses.field(default_factory=list)

    def listen(self, page):
        """Listen to a page."""
        page.on("request", self._check_request)
        page.on("console", self._check_console)
        page.on("pageerror", lambda error: self.faults.append(f"exception: {error}"))

    def _check_request(self, request):
        url = urllib.parse.urlsplit(request.url)
        is_own = f"{url.scheme}://{url.netloc}" == self.address or url.scheme in {"blob", "data", "about"}
        if not is_own or url.query:
            self.faults.append(f"request: {request.url}")

    def _check_console(self, message):
        if message.type in {"error", "warning"} and not re.search(self.allowed, message.text):
            self.faults.append(f"{message.type}: {message.text}")


def privatize(page):
    """Privatize what stands on the page, and wait for it."""
    expect(page.locator("#try-epsilon")).to_be_enabled()
    page.get_by_role("button", name="Privatize").click()
    expect(page.locator("#try-status")).to_contain_text("privatized")


def open_table(page, folder, column="letter"):
    expect(page.locator("#try")).to_be_visible()
    page.set_input_files("#try-file", folder / "letters.csv")
    page.locator("#try-column").select_option(column)


def check_files(page, *paths):
    """Check some files on the page, and return the verdict in words."""
    expect(page.locator("#check")).to_be_visible()
    page.set_input_files("#check-file", paths)
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.locator("#check-status")).to_have_text("Checked.")
    return page.locator("#check-summary .verdict").text_content()
