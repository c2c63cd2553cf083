// A certificate, read as a privacy officer would, with what was computed again and what rests on the owner's word.

import { acceptFiles, fillFacts, find, formatCount, isolate, make, showProblem } from "./dom.js";
import { postJob } from "./service.js";
import { formatUpper } from "./wording.js";

const KINDS = [
  ["signature", "Signature", (name) => name.endsWith(".sig")],
  ["public_key", "Public key", (name) => name.endsWith(".pub")],
  ["certificate", "Certificate", (name) => name.endsWith(".json")],
  ["table", "Released table", () => true],
];
const MAX_BYTES = 4_000_000;
const VERDICTS = {
  recomputed: ["good", "The guarantee was computed again, and nothing contradicts the certificate."],
  stated: ["", "Nothing contradicts the certificate, but its guarantee could not be computed again here."],
  contradicted: ["bad", "Do not rely on this certificate: something in it is contradicted."],
};
const STATUSES = [
  ["contradicted", "✗ Contradicted", "What stands there is not what was found."],
  ["stated", "– Only stated by the owner", "Nobody but the owner can know; ask for grounds where it matters."],
  ["recomputed", "✓ Computed again", "What stands there is what was found."],
];

const files = new Map();
let work = null;

/** Prepare the part of the page that checks certificates. */
export function startChecking() {
  acceptFiles(find("check-drop"), find("check-file"), addFiles);
  find("check-form").addEventListener("submit", (event) => {
    event.preventDefault();
    check();
  });
  find("check-stop").addEventListener("click", () => work?.abort());
  find("check-clear").addEventListener("click", () => {
    files.clear();
    showFiles();
    find("check-file").focus();
  });
}

/** Take each file for what its name says; a later one replaces an earlier one of its kind. */
function addFiles(added) {
  for (const file of added) files.set(KINDS.find(([, , isKind]) => isKind(file.name))[0], file);
  showFiles();
}

function showFiles() {
  const rows = KINDS.filter(([kind]) => files.has(kind)).map(([kind, label]) => [label, files.get(kind).name]);
  fillFacts(find("check-files"), rows);
  find("check-clear").hidden = files.size === 0;
}

/** Have the certificate checked, and show what was found. */
async function check() {
  if (work) return; // the service has room for one: Stop makes it
  work = new AbortController();
  const say = (text) => {
    find("check-status").textContent = text;
  };
  find("check-stop").hidden = false;
  showProblem("check-problem", null);
  try {
    say("Checking … a new epsilon takes a quarter of a minute.");
    showCheck(await postJob("v1/certificate/check", await makeRequest(), say, work.signal));
    say("Checked.");
  } catch (error) {
    say(error.name === "AbortError" ? "Stopped." : "");
    if (error.name !== "AbortError") showProblem("check-problem", error);
  } finally {
    work = null;
    find("check-stop").hidden = true;
  }
}

async function makeRequest() {
  if (!files.has("certificate")) {
    throw new Error("There is no certificate yet: choose the file that ends in .certificate.json.");
  }
  const request = {};
  for (const kind of ["certificate", "signature", "public_key"]) {
    if (files.has(kind)) request[kind] = await readText(files.get(kind));
  }
  if (files.has("table")) request.table_sha256 = await hashFile(files.get("table"));
  return request;
}

/** Return the text of a small file, byte for byte: a signature covers every one. */
async function readText(file) {
  if (file.size > MAX_BYTES) throw new Error("A certificate, a signature or a key has less than 4 MB: choose another.");
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await file.arrayBuffer());
  } catch {
    throw new Error("A certificate, a signature or a key is UTF-8 text: choose the file as it was written.");
  }
}

/** Return the SHA-256 of a file, which itself stays in this tab. */
async function hashFile(file) {
  if (!globalThis.crypto?.subtle) {
    throw new Error("The browser hashes files on localhost and over HTTPS alone: leave out the table.");
  }
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", await file.arrayBuffer()));
  return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function showCheck(result) {
  const [style, verdict] = VERDICTS[result.overall];
  const [summary, promises] = result.sections;
  find("check-result-title").textContent = `Certificate of ${result.kind}`;
  find("check-summary").replaceChildren(
    make("div", { class: `verdict ${style}` }, make("strong", {}, verdict), makeFacts(summary.facts.slice(1))),
    make("h3", {}, "What it says"),
    makeFacts([...promises.facts, ...listAttackFacts(result.fields)]),
  );
  find("check-fields").replaceChildren(
    make("h3", {}, "Field by field"),
    ...STATUSES.map((status) => makeFields(result.fields, ...status)).filter(Boolean),
  );
  find("check-result").hidden = false;
  find("check-result-title").focus();
}

/** Return what the certificate says of attackers and of whole records, where it does. */
function listAttackFacts(fields) {
  const values = new Map(fields.map(({ path, value }) => [path, value]));
  const paths = ["attacker", "bands", "most_exposed"].filter((path) => values.has(path));
  const facts = paths.length ? [{ label: "attacker", lines: paths.map((path) => formatValue(values.get(path))) }] : [];
  const lines = [];
  for (let place = 0; values.has(`documents[${place}].pure.epsilon`); place += 1) {
    const get = (name) => formatValue(values.get(`documents[${place}].${name}`));
    const epsilon = values.get(`documents[${place}].pure.epsilon`);
    const rounded = typeof epsilon === "number" ? formatUpper(epsilon) : formatValue(epsilon);
    lines.push(`the ${get("record")} record, ${get("words")} words: epsilon ${rounded}`);
  }
  return lines.length ? [...facts, { label: "whole records", lines }] : facts;
}

function makeFacts(facts) {
  const list = make("dl", { class: "facts" });
  fillFacts(list, facts.map(({ label, lines }) => [label, ...lines]));
  return list;
}

/** Return the fields of one status, folded unless they are the bad news; nothing where there are none. */
function makeFields(fields, status, title, meaning) {
  const rows = fields.filter((field) => field.status === status);
  if (!rows.length) return null;
  const headings = ["Field", "Value", "Remark"];
  const table = make(
    "table",
    { class: "fields" },
    make("thead", {}, make("tr", {}, ...headings.map((name) => make("th", { scope: "col" }, name)))),
    make("tbody", {}, ...rows.map(makeField)),
  );
  const details = make("details", {}, make("summary", {}, `${title}: ${formatCount(rows.length, "field")}`));
  details.append(make("p", { class: "soft" }, meaning), table);
  details.open = status === "contradicted";
  return details;
}

function makeField({ path, value, note }) {
  return make(
    "tr",
    {},
    make("th", { scope: "row" }, isolate(path)),
    make("td", { "data-name": "Value" }, isolate(formatValue(value))),
    make("td", { "data-name": "Remark" }, isolate(note)),
  );
}

function formatValue(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}
