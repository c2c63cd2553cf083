// A certificate, read as a privacy officer would: what was computed again, and what rests on the owner's word.

import { acceptFiles, fillFacts, find, formatCount, isolate, make, showProblem } from "./dom.js";
import { postJob } from "./service.js";
import { listColumns, readTable } from "./tables.js";
import { formatUpper } from "./wording.js";

const KINDS = [
  ["signature", "Signature", (name) => name.endsWith(".sig")],
  ["public_key", "Public key", (name) => name.endsWith(".pub")],
  ["certificate", "Certificate", (name) => name.endsWith(".json")],
  ["table", "Released table", () => true],
];
const MAX_BYTES = 4_000_000;
const MAX_TABLE_BYTES = 2_500_000;
const VERDICTS = {
  recomputed: "The guarantee was computed again, and nothing contradicts the certificate.",
  stated: "Nothing contradicts the certificate, but its guarantee could not be computed again here.",
  contradicted: "Do not rely on this certificate: something in it is contradicted.",
};
const STATUSES = [
  ["contradicted", "✗ Contradicted", "The certificate does not say what was found."],
  ["stated", "– Only stated by the owner", "Only the owner can know this; ask for evidence if it matters to you."],
  ["recomputed", "✓ Computed again", "The certificate says what was found."],
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

/** Sort files by their names; a later one replaces an earlier one of its kind. */
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
  if (work) return; // the service runs one check at a time: Stop ends it
  work = new AbortController();
  const say = (text) => {
    find("check-status").textContent = text;
  };
  find("check-stop").hidden = false;
  showProblem("check-problem", null);
  try {
    say("Checking … this takes up to a minute.");
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
  if (files.has("table")) Object.assign(request, await readReleased(files.get("table"), files.has("public_key")));
  return request;
}

/** Return what a check needs of the released table: with a key its hash, without one its cells, if it is small. */
async function readReleased(file, hasKey) {
  if (hasKey) return { table_sha256: await hashFile(file) };
  if (file.size > MAX_TABLE_BYTES || !/[.](csv|tsv|jsonl|txt)$/i.test(file.name)) {
    return { table_sha256: await hashFile(file) };
  }
  return { table: listColumns(await readTable(file)) };
}

/** Return the text of a small file, byte for byte: a signature covers every one. */
async function readText(file) {
  if (file.size > MAX_BYTES) {
    throw new Error("The file is larger than 4 MB, as no certificate, signature or key is: choose a different file.");
  }
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await file.arrayBuffer());
  } catch {
    throw new Error("The file is not UTF-8 text, as certificates, signatures and keys are: choose the file as it was written.");
  }
}

/** Return the SHA-256 of a file, which itself stays in this tab. */
async function hashFile(file) {
  if (!globalThis.crypto?.subtle) {
    throw new Error("The browser computes hashes only on localhost or over HTTPS: remove the table.");
  }
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", await file.arrayBuffer()));
  return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function showCheck(result) {
  const [summary, promises] = result.sections;
  find("check-result-title").textContent = `Certificate of ${result.kind}`;
  find("check-summary").replaceChildren(
    make(
      "div",
      { class: `verdict ${result.tone}` },
      make("strong", {}, VERDICTS[result.overall]),
      ...(result.caution ? [make("p", {}, result.caution)] : []),
      makeFacts(summary.facts.filter(({ label }) => label !== "result" && label !== "caution")),
    ),
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

/** Return what the certificate says about attackers and about whole records, if it does. */
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

/** Return the fields of one status, folded unless they are the bad news; null if there are none. */
function makeFields(fields, status, title, meaning) {
  const rows = fields.filter((field) => field.status === status);
  if (!rows.length) return null;
  const headings = ["Field", "Value", "Remark"];
  const table = make(
    "table",
    { class: "fields", "aria-label": title },
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
