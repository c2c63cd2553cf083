// Texts made private: what goes in, how strongly, and what comes out.

import { acceptFiles, fillFacts, fillSelect, find, formatCount, isolate, make, saveFile, showProblem } from "./dom.js";
import { explainWord } from "./explain.js";
import { describeRelease, post } from "./service.js";
import {
  addEnding,
  formatCommand,
  guessTextColumn,
  listTextColumns,
  listTexts,
  makeLines,
  readTable,
  writeTable,
} from "./tables.js";
import { TextTable } from "./texts.js";
import {
  describeLeastShare,
  describeRecordEpsilon,
  describeShare,
  formatPercent,
  formatUpper,
  judgeRecords,
  judgeWords,
} from "./wording.js";

const BATCH_TEXTS = 200;
const BATCH_CHARACTERS = 200_000;
const EXAMPLE = `Dr. Okafor saw Mr. Lindqvist in Tampere on 3 March.
The patient has tolerated the second cycle well, apart from nausea.
Please write to the home address, not to the clinic.`;

const POLL_SECONDS = 0.5;
const PROTECTIVE_SHARE = 0.2;

let options = {};
let ladder = [];
let table = null;
let shown = null;
let work = null;
let textTable = null;
let shownChoice = {};

/** Prepare the part of the page that privatizes texts. */
export function startTrying(offered) {
  options = offered;
  textTable = new TextTable((word) => explain(word, shownChoice, "try-problem"));
  find("try-text").value = EXAMPLE;
  acceptFiles(find("try-drop"), find("try-file"), ([file]) => openTable(file));
  find("try-remove").addEventListener("click", () => showTable(null));
  find("try-mechanism").addEventListener("change", loadLadder);
  find("try-epsilon").addEventListener("input", showPromise);
  find("try-form").addEventListener("submit", (event) => {
    event.preventDefault();
    privatize();
  });
  find("try-stop").addEventListener("click", () => work?.abort());
  find("try-columns").addEventListener("change", showNotes);
  find("try-download").addEventListener("click", download);
  find("try-copy").addEventListener("click", copyCommand);
  find("word-form").addEventListener("submit", (event) => {
    event.preventDefault();
    explainLookedUp();
  });
  fillSelect(find("try-mechanism"), listNames(options.mechanisms), options.default.mechanism);
  find("try-choice").hidden = options.is_fixed;
  find("try-fixed").hidden = !options.is_fixed;
  find("try-fixed").textContent = describeRelease(options.default);
  find("word-section").hidden = !hasWords();
  if (hasWords()) loadLadder();
  else find("try-promise").textContent = "Each text is rewritten as a whole.";
}

function listNames(names) {
  return names.map((name) => [name, name]);
}

/** Return whether the service draws words one by one, and does not rewrite whole texts. */
function hasWords() {
  return options.release?.unit !== "record";
}

/** Ask for the ladder of epsilons of the chosen mechanism until all of it is computed. */
async function loadLadder() {
  const mechanism = find("try-mechanism").value;
  ladder = [];
  find("try-epsilon").disabled = true;
  find("try-promise").textContent = "Computing what an attacker can guess …";
  find("try-epsilon-note").textContent = "";
  try {
    for (;;) {
      const answer = await post("v1/tune", { mechanism });
      if (mechanism !== find("try-mechanism").value) return;
      showLadder(answer);
      if (answer.is_complete) return;
      await new Promise((resolve) => setTimeout(resolve, 1000 * POLL_SECONDS));
    }
  } catch (error) {
    find("try-promise").textContent = "";
    showProblem("try-problem", error);
  }
}

/** Show the steps of the ladder that are ready; the chosen one stays, and until then the strongest is offered. */
function showLadder(answer) {
  const slider = find("try-epsilon");
  const chosen = ladder[Number(slider.value)]?.epsilon;
  const ready = answer.ladder.filter((step) => step.state === "ready");
  const computing = answer.ladder.filter((step) => step.state === "computing").length;
  find("try-ladder").textContent = computing ? `Computing ${formatCount(computing, "more step")} …` : "";
  if (!ready.length && !computing) throw new Error(`No epsilon can be offered: ${answer.ladder[0].reason}`);
  if (!ready.length || ready.length === ladder.length) return;
  ladder = ready;
  slider.disabled = false;
  slider.max = ladder.length - 1;
  const isTouched = slider.dataset.touched === "true";
  slider.value = isTouched ? Math.max(ladder.findIndex((step) => step.epsilon === chosen), 0) : 0;
  showPromise();
}

/** Return the share of words that an attacker guesses, at least. */
function getShare({ recovery, kept }) {
  return recovery ?? kept;
}

/** Say what the chosen step of the ladder means. */
function showPromise(event) {
  if (event) find("try-epsilon").dataset.touched = "true";
  const step = getStep();
  const share = step.recovery === null ? `at least ${describeLeastShare(step.kept)}` : `about ${describeShare(step.recovery)}`;
  const isWeak = getShare(step) > PROTECTIVE_SHARE;
  find("try-epsilon").setAttribute("aria-valuetext", `${share}, epsilon ${step.epsilon}`);
  find("try-promise").textContent =
    `An attacker who sees the private words guesses ${share} correctly.${isWeak ? " That is weak protection." : ""}`;
  find("try-promise").classList.toggle("weak", isWeak);
  find("try-epsilon-note").textContent =
    `Epsilon ${step.epsilon} per unit of distance: ${listPromises(step).join(". ")}. ` +
    `${formatPercent(step.kept)} of words stay unchanged.`;
}

/** Return how many words the attacker guesses, then by frequency, and which word is exposed most, if that is known. */
function listPromises({ attacker, outcomes }) {
  return outcomes ? [attacker, `By frequency: ${outcomes.by_frequency}`, outcomes.most_exposed] : [attacker];
}

/** Return the chosen step of the ladder. */
function getStep() {
  if (!ladder.length) throw new Error("The epsilons are still being computed: wait a moment.");
  return ladder[Number(find("try-epsilon").value)];
}

/** Return the mechanism and epsilon for requests; nothing where the service has one release only. */
function getChoice() {
  return options.is_fixed ? {} : { mechanism: find("try-mechanism").value, epsilon: getStep().epsilon };
}

async function openTable(file) {
  try {
    const opened = await readTable(file);
    if (!guessTextColumn(opened)) throw new Error("The table has no column of texts: open a different one.");
    showTable(opened);
    showProblem("try-text-problem", null);
  } catch (error) {
    showProblem("try-text-problem", error);
  }
}

/** Show a table in place of the field for texts; null brings the field back. */
function showTable(opened) {
  table = opened;
  find("try-lines").hidden = table !== null;
  find("try-table").hidden = table === null;
  if (table === null) {
    find("try-text").focus();
    return;
  }
  find("try-table-name").replaceChildren(isolate(table.name), `, ${formatCount(table.rows.length, "row")}`);
  fillSelect(find("try-column"), listNames(listTextColumns(table)), guessTextColumn(table));
}

/** Privatize the texts in batches, and show the results. */
async function privatize() {
  work?.abort();
  const own = (work = new AbortController());
  find("try-stop").hidden = false;
  showProblem("try-problem", null);
  try {
    const input = table ?? makeLines("texts.txt", find("try-text").value);
    const column = table === null ? "text" : find("try-column").value;
    const step = hasWords() ? getStep() : null;
    const choice = getChoice();
    const result = await privatizeTexts(listTexts(input, column), choice, own.signal);
    shownChoice = choice;
    showResult(input, column, { ...result, step });
    find("try-status").textContent = `${formatCount(result.rows.length, "text")} privatized.`;
  } catch (error) {
    find("try-status").textContent = error.name === "AbortError" ? "Stopped." : "";
    if (error.name !== "AbortError") showProblem("try-problem", error);
  } finally {
    if (work === own) find("try-stop").hidden = true;
  }
}

async function privatizeTexts(texts, choice, signal) {
  const rows = [];
  let release = null;
  while (rows.length < texts.length) {
    find("try-status").textContent = `${rows.length.toLocaleString("en")} of ${formatCount(texts.length, "text")} …`;
    const batch = takeBatch(texts, rows.length);
    const answer = await requestBatch(batch, choice, signal);
    release = answer.release;
    rows.push(...answer.texts.map((text, place) => ({ text, pieces: readPieces(answer, batch, place) })));
  }
  return { rows, release };
}

/** Return the next texts, so few that the service answers soon. */
function takeBatch(texts, first) {
  let last = first;
  const count = Math.min(BATCH_TEXTS, options.limits.texts);
  for (let characters = 0; last < texts.length && last - first < count; last += 1) {
    characters += (texts[last] ?? "").length;
    if (last > first && characters > BATCH_CHARACTERS) break;
  }
  return texts.slice(first, last);
}

async function requestBatch(texts, choice, signal) {
  if (!hasWords()) return post("v1/privatize", { texts }, signal);
  const characters = texts.reduce((sum, text) => sum + (text ?? "").length, 0);
  const show = options.shows_words && characters <= BATCH_CHARACTERS ? { show: "words" } : {};
  return post("v1/privatize", { texts, ...choice, ...show }, signal);
}

/** Return the pieces of a text; a text whose words cannot be told apart is one piece. */
function readPieces({ texts, pieces }, originals, place) {
  if (pieces) return pieces[place];
  if (texts[place] === null) return null;
  return [{ original: originals[place], private: texts[place], kind: "between" }];
}

/** Show the private texts with what is promised about them. */
function showResult(input, column, { rows, release, step }) {
  shown = { input, column, release, texts: rows.map((row) => row.text) };
  showVerdict(rows, release, step);
  fillFacts(find("try-facts"), listFacts(rows, release, step));
  textTable.fill(rows);
  find("try-legend").hidden = !options.shows_words;
  showColumns();
  showNotes();
  find("try-result").hidden = false;
  find("try-result-title").focus();
}

/** Say in a coloured box what is protected as a whole. */
function showVerdict(rows, release, step) {
  const lengths = options.shows_words ? countWords(rows) : null;
  const { tone, title, sentence } =
    release.unit === "record" ? judgeRecords(release.guarantee.epsilon) : judgeWords(lengths, step.word_loss);
  find("try-verdict").className = `verdict ${tone}`;
  find("try-verdict").replaceChildren(make("strong", {}, title), make("p", {}, sentence));
}

/** Return the number of words of each text. */
function countWords(rows) {
  return rows.map(({ pieces }) => (pieces ?? []).filter(({ kind }) => kind !== "between").length);
}

function listFacts(rows, release, step) {
  const { guarantee } = release;
  if (release.unit === "record") return [["guarantee", `epsilon ${guarantee.epsilon} for each text, ${guarantee.status}`]];
  const facts = [
    ["guarantee", `epsilon ${guarantee.epsilon} for each word, ${guarantee.status}; distance ${guarantee.metric}`],
    ["attacker", ...listPromises(step)],
  ];
  const hidden = describeHidden(rows);
  if (hidden) facts.push(["hidden", hidden]);
  if (options.shows_words) facts.push(["whole texts", describeWhole(countWords(rows), step)]);
  return facts;
}

/** Return how many words were hidden among others of their class. */
function describeHidden(rows) {
  const counts = new Map();
  for (const piece of rows.flatMap(({ pieces }) => pieces ?? [])) {
    if (piece.class) counts.set(piece.class, (counts.get(piece.class) ?? 0) + 1);
  }
  const classes = [...counts].map(([name, count]) => `${formatCount(count, "word")} of ${name}`);
  return classes.length ? `${classes.join(", ")}: the output reveals only the class of a word` : "";
}

/** Return what the guarantee says of the longest text as a whole. */
function describeWhole(lengths, { word_loss: loss }) {
  const longest = lengths.reduce((most, length) => Math.max(most, length), 0);
  const epsilon = longest * loss;
  return `the longest text, ${formatCount(longest, "word")}: epsilon ${formatUpper(epsilon)}; ${describeRecordEpsilon(epsilon)}`;
}

/** Offer the other columns of the table for the download, none of them chosen: they would be copied unchanged. */
function showColumns() {
  const others = shown.input.columns.filter((name) => name !== shown.column);
  const boxes = others.map((name) => {
    const box = make("input", { type: "checkbox", name: "try-copied" });
    box.value = name;
    return make("label", {}, box, isolate(name));
  });
  find("try-columns").hidden = !others.length;
  find("try-column-boxes").replaceChildren(...boxes);
}

/** Return the names of the columns that the download copies. */
function listCopied() {
  return [...document.querySelectorAll('input[name="try-copied"]:checked')].map((box) => box.value);
}

/** Show what the download holds, and the command that does the same. */
function showNotes() {
  const { input, column, release } = shown;
  const copied = listCopied();
  find("try-download-note").textContent =
    (copied.length ? `Copied unchanged, and not protected: ${copied.join(", ")}. ` : "") +
    "Downloads exactly this version. Each click on Privatize makes a new version; release only one, because two " +
    "versions reveal more than one.";
  const isWord = release.unit === "word";
  find("try-command-box").hidden = !isWord;
  if (!isWord) return;
  const choice = { mechanism: release.mechanism, epsilon: release.epsilon };
  find("try-command").textContent = formatCommand(input, column, copied, choice, options.command_options);
  find("try-command-note").textContent =
    `Run it in the folder of ${input.name}${table === null ? ", a file with your texts, one per line" : ""}. It draws ` +
    "new words, and writes a certificate next to the private table.";
  find("try-copy-status").textContent = "";
}

function download() {
  const { input, column, texts } = shown;
  saveFile(addEnding(input.name, "private"), writeTable(input, column, texts, listCopied()), "text/plain");
}

async function copyCommand() {
  const code = find("try-command");
  try {
    await navigator.clipboard.writeText(code.textContent);
    find("try-copy-status").textContent = "Copied.";
  } catch {
    getSelection().selectAllChildren(code);
    find("try-copy-status").textContent = "The browser does not let this page copy: press Ctrl+C.";
  }
}

async function explain(word, choice, problem) {
  try {
    await explainWord(word, choice);
    showProblem(problem, null);
  } catch (error) {
    showProblem(problem, error);
  }
}

function explainLookedUp() {
  try {
    explain(find("word").value.trim(), getChoice(), "word-problem");
  } catch (error) {
    showProblem("word-problem", error);
  }
}
