// The page starts here: what the service offers, its token where it asks for one, and which part is shown.

import { startChecking } from "./check.js";
import { find, showProblem } from "./dom.js";
import { startMeasuring } from "./measure.js";
import { get, setToken } from "./service.js";
import { startTrying } from "./try.js";

const PARTS = ["try", "check", "measure"];
const UNAUTHORIZED = 401;

/** Show the part that the address names, and say so in the title and the navigation. */
function showPart(isFirst) {
  const name = PARTS.includes(location.hash.slice(1)) ? location.hash.slice(1) : PARTS[0];
  for (const part of PARTS) {
    find(part).hidden = part !== name;
    const link = document.querySelector(`nav a[href="#${part}"]`);
    if (part === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${find(`${name}-title`).textContent} - deniable`;
  if (!isFirst) {
    scrollTo(0, 0);
    find("main").focus({ preventScroll: true });
  }
}

/** Ask what the service offers, and start all parts; ask for the token where it needs one. */
async function start() {
  let options;
  try {
    options = { ...(await get("v1/options")), ...(await get("page.json")) };
  } catch (error) {
    find("token-form").hidden = error.status !== UNAUTHORIZED;
    showProblem("service-problem", error);
    return;
  }
  find("token-form").hidden = true;
  showProblem("service-problem", null);
  find("service-version").textContent = `deniable ${options.deniable}`;
  startTrying(options);
  startChecking(options);
  startMeasuring(options);
  showPart(true);
  addEventListener("hashchange", () => showPart(false));
}

find("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  setToken(find("token").value);
  find("token").value = "";
  start();
});
// A file that is dropped beside its field must not replace the page.
for (const name of ["dragover", "drop"]) addEventListener(name, (event) => event.preventDefault());
start();
