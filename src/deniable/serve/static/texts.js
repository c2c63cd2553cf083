// Private texts next to the originals, a page of rows at a time; every private word can be opened.

import { find, formatCount, make } from "./dom.js";

const ROWS = 50;
const MAX_WORDS = 400;

/** A table of texts, and the rows of it that are shown. */
export class TextTable {
  /** @param {(original: string) => void} open called with the original of a chosen word */
  constructor(open) {
    this.rows = [];
    this.first = 0;
    this.body = find("try-texts").tBodies[0];
    this.body.addEventListener("click", (event) => {
      const word = event.target.closest("button.word");
      if (!word) return;
      this.focusWord(word);
      open(word.dataset.original);
    });
    this.body.addEventListener("keydown", (event) => this.moveFocus(event));
    find("try-previous").addEventListener("click", () => this.show(this.first - ROWS));
    find("try-next").addEventListener("click", () => this.show(this.first + ROWS));
  }

  /**
   * Replace the rows.
   * @param {{pieces: object[]|null}[]} rows
   */
  fill(rows) {
    this.rows = rows;
    this.show(0);
  }

  /** Show a page of rows. */
  show(first) {
    this.first = first;
    const shown = this.rows.slice(first, first + ROWS);
    this.body.replaceChildren(...shown.map((row, place) => makeRow(row, first + place + 1)));
    const word = this.body.querySelector("button.word");
    if (word) word.tabIndex = 0;
    const count = this.rows.length;
    find("try-pages").hidden = count <= ROWS;
    find("try-page").textContent = `Rows ${first + 1} to ${first + shown.length} of ${formatCount(count, "row")}`;
    find("try-previous").disabled = first === 0;
    find("try-next").disabled = first + ROWS >= count;
  }

  /** Make one word the only one that Tab stops at, and give it the focus. */
  focusWord(word) {
    for (const other of this.body.querySelectorAll("button.word[tabindex='0']")) other.tabIndex = -1;
    word.tabIndex = 0;
    word.focus();
  }

  moveFocus(event) {
    const words = [...this.body.querySelectorAll("button.word")];
    const place = words.indexOf(event.target);
    if (place < 0) return;
    const target = findTarget(event.key, words, place);
    if (!target) return;
    event.preventDefault();
    this.focusWord(target);
  }
}

/** Return the word that a key leads to; nothing for other keys. */
function findTarget(key, words, place) {
  const getRow = (word) => word.closest("tr").rowIndex;
  const row = getRow(words[place]);
  switch (key) {
    case "ArrowRight":
      return words[place + 1];
    case "ArrowLeft":
      return words[place - 1];
    case "ArrowDown":
      return words.find((word) => getRow(word) > row);
    case "ArrowUp": {
      const above = words.filter((word) => getRow(word) < row).at(-1);
      return above && words.find((word) => getRow(word) === getRow(above));
    }
    case "Home":
      return words[0];
    case "End":
      return words.at(-1);
    default:
      return undefined;
  }
}

function makeRow({ pieces }, number) {
  const row = make("tr", {}, make("th", { scope: "row" }, `${number}`));
  if (pieces === null) {
    row.append(...["Original", "Private"].map((name) => make("td", { "data-name": name }, make("em", {}, "no text"))));
    return row;
  }
  const shown = pieces.slice(0, MAX_WORDS * 2);
  const originals = shown.map(makeOriginal);
  const privates = shown.map(makePrivate);
  if (pieces.length > shown.length) {
    const rest = ` … and ${formatCount(pieces.length - shown.length, "more piece")}; the download has them all`;
    originals.push(make("span", { class: "more" }, rest));
    privates.push(make("span", { class: "more" }, rest));
  }
  row.append(
    make("td", { "data-name": "Original", dir: "auto" }, ...originals),
    make("td", { "data-name": "Private", dir: "auto" }, ...privates),
  );
  return row;
}

function makeOriginal({ original, kind }) {
  return kind === "between" ? original : make("bdi", { class: `word ${kind}` }, original);
}

function makePrivate(piece) {
  if (piece.kind === "between") return piece.private;
  const attributes = {
    type: "button",
    class: `word ${piece.kind}`,
    tabindex: "-1",
    "aria-label": describePiece(piece),
    "data-original": piece.original,
  };
  return make("button", attributes, make("bdi", {}, piece.private));
}

/** Return what became of a word, for people who do not see its mark. */
function describePiece({ original, private: output, kind, class: name }) {
  const fates = {
    kept: "unchanged",
    changed: `in place of ${original}`,
    unknown: `in place of ${original}, which is not in the vocabulary`,
    hidden: `in place of ${original}, hidden as one of ${name}`,
  };
  return `${output}, ${fates[kind]}`;
}
