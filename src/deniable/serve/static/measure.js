// The report of `deniable measure` on a table in memory, shown in a frame that runs no scripts.

import { acceptFiles, fillSelect, find, formatCount, isolate, make, saveFile, showProblem } from "./dom.js";
import { describeRelease, postJob } from "./service.js";
import { guessTextColumn, listTextColumns, listTexts, readTable } from "./tables.js";

const DEFAULT_EPSILONS = [1, 2, 3, 4, 6];

const REPORTS = globalThis.trustedTypes?.createPolicy("report", { createHTML: (page) => page });

let options = {};
let table = null;
let work = null;
let result = null;

/** Prepare the part of the page that measures a table. */
export function startMeasuring(offered) {
  options = offered;
  find("measure-epsilons").append(...makeChoices());
  acceptFiles(find("measure-drop"), find("measure-file"), ([file]) => openTable(file));
  find("measure-form").addEventListener("submit", (event) => {
    event.preventDefault();
    measure();
  });
  find("measure-stop").addEventListener("click", () => work?.abort());
  find("measure-download").addEventListener("click", () => saveFile("measure.html", result.page, "text/html"));
  find("measure-summary").addEventListener("click", () => saveFile("measure.summary.html", result.summary, "text/html"));
}

function makeChoices() {
  if (options.is_fixed) return [make("p", {}, describeRelease(options.default))];
  const boxes = options.epsilons.map((epsilon) => {
    const box = make("input", { type: "checkbox", name: "measure-epsilon", value: `${epsilon}` });
    box.checked = DEFAULT_EPSILONS.includes(epsilon);
    return make("label", {}, box, `${epsilon}`);
  });
  return [make("div", { class: "checks" }, ...boxes)];
}

async function openTable(file) {
  try {
    const opened = await readTable(file);
    if (!guessTextColumn(opened)) throw new Error("The table has no column of texts: open a different one.");
    table = opened;
  } catch (error) {
    showProblem("measure-problem", error);
    return;
  }
  showProblem("measure-problem", null);
  const columns = listTextColumns(table);
  const column = guessTextColumn(table);
  find("measure-file-name").replaceChildren(isolate(table.name), `, ${formatCount(table.rows.length, "row")}`);
  find("measure-columns").hidden = false;
  fillSelect(find("measure-column"), columns.map((name) => [name, name]), column);
  const others = columns.filter((name) => name !== column).map((name) => [name, name]);
  fillSelect(find("measure-label"), [["", "none: only protection is measured"], ...others], "");
}

/** Return a page for the frame, the one place where markup goes in: the frame runs no scripts. */
function allowPage(page) {
  return REPORTS ? REPORTS.createHTML(page) : page;
}

/** Measure the table, say what is being done, and show the report. */
async function measure() {
  if (work) return; // the service runs one measurement at a time: Stop ends it
  work = new AbortController();
  find("measure-stop").hidden = false;
  showProblem("measure-problem", null);
  const say = (text) => {
    find("measure-status").textContent = text;
  };
  try {
    say("Starting …");
    const start = performance.now();
    const tell = (stage) => say(`${stage} … (${Math.round((performance.now() - start) / 1000)} s)`);
    result = await postJob("v1/measure", makeRequest(), tell, work.signal);
    say("Measured.");
    showReport();
  } catch (error) {
    say(error.name === "AbortError" ? "Stopped." : "");
    if (error.name !== "AbortError") showProblem("measure-problem", error);
  } finally {
    work = null;
    find("measure-stop").hidden = true;
  }
}

function makeRequest() {
  if (table === null) throw new Error("No table is open yet: open one.");
  const column = find("measure-column").value;
  const label = find("measure-label").value;
  const request = { table: table.name, column, texts: listTexts(table, column) };
  if (label) Object.assign(request, { label, labels: listTexts(table, label) });
  if (options.is_fixed) return request;
  const boxes = document.querySelectorAll('input[name="measure-epsilon"]:checked');
  if (!boxes.length) throw new Error("No epsilon is chosen yet: choose one or more.");
  return { ...request, epsilons: [...boxes].map((box) => Number(box.value)) };
}

function showReport() {
  find("measure-result").hidden = false;
  find("measure-report").srcdoc = allowPage(result.page);
  find("measure-result-title").focus();
}
