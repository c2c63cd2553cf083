// Tables in memory: read from files, written with private texts, and named on a command line.

const MAX_BYTES = 20_000_000;
const FORMATS = { csv: ",", tsv: "\t", jsonl: null, txt: null };

/**
 * A table of texts.
 * @typedef {object} Table
 * @property {string} name of its file
 * @property {"csv"|"tsv"|"jsonl"|"txt"} format
 * @property {string} delimiter between cells of csv and tsv
 * @property {string[]} columns
 * @property {(string|null|object)[][]} rows cells in the order of the columns
 */

/** Return the table of a file; an error names what is wrong with it. */
export async function readTable(file) {
  const format = file.name.split(".").pop().toLowerCase();
  if (!(format in FORMATS)) {
    throw new Error("The file name must end in .csv, .tsv, .jsonl or .txt: save the table in one of these formats.");
  }
  if (file.size > MAX_BYTES) {
    throw new Error("The file is larger than 20 MB: use deniable privatize on the command line.");
  }
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    throw new Error("The file is not UTF-8 text: save it as UTF-8.");
  }
  if (format === "txt") return makeLines(file.name, text);
  return format === "jsonl" ? parseObjects(file.name, text) : parseCells(file.name, format, text);
}

/** Return a table with one text for each line. */
export function makeLines(name, text) {
  const lines = text.replace(/\r?\n$/, "").split(/\r?\n/);
  return { name, format: "txt", delimiter: "", columns: ["text"], rows: lines.map((line) => [line]) };
}

function parseObjects(name, text) {
  const objects = text.split("\n").filter((line) => line.trim()).map((line, row) => {
    try {
      const value = JSON.parse(line, keepNumber);
      if (value !== null && typeof value === "object" && !Array.isArray(value)) return value;
    } catch (error) {
      if (error instanceof RangeError) throw new Error(`Line ${row + 1} ${error.message}`);
      // Other errors are said below, as for other values.
    }
    throw new Error(`Line ${row + 1} is not a JSON object: write one object per line.`);
  });
  const columns = [...new Set(objects.flatMap((object) => Object.keys(object)))];
  if (!columns.length) throw new Error("The table has no rows: give one with texts.");
  const getCell = (object, column) => (Object.hasOwn(object, column) ? object[column] : undefined);
  const rows = objects.map((object) => columns.map((column) => getCell(object, column)));
  return { name, format: "jsonl", delimiter: "", columns, rows };
}

/** Return a value of JSON as it is; throw where the browser has read another number than the file holds. */
function keepNumber(_, value) {
  if (typeof value === "number" && (Number.isInteger(value) ? !Number.isSafeInteger(value) : !Number.isFinite(value))) {
    throw new RangeError("has a number too large for a browser: use deniable privatize on the command line.");
  }
  return value;
}

function parseCells(name, format, text) {
  const header = text.split("\n", 1)[0];
  const delimiter = format === "csv" && !header.includes(",") && header.includes(";") ? ";" : FORMATS[format];
  const [columns, ...rows] = splitCells(text, delimiter);
  refuseSwallowedRows(text, delimiter, columns);
  if (!rows.length) throw new Error("The table has no rows: give one with a header and texts.");
  const ragged = rows.findIndex((row) => row.length !== columns.length);
  if (ragged >= 0) {
    throw new Error(
      `Row ${ragged + 1} has ${rows[ragged].length} cells, the header ${columns.length}: quote cells that hold the ` +
        "delimiter.",
    );
  }
  const twice = columns.find((column, place) => columns.indexOf(column) !== place);
  if (twice !== undefined) {
    throw new Error(`Two columns are named "${twice}": rename one, because only one would become private.`);
  }
  return { name, format, delimiter, columns, rows };
}

/**
 * Throw where a quoted cell of a column spans lines that would be rows of their own, and no other cell needs its quotes:
 * records would be lost, and texts pass in a column that is copied.
 */
function refuseSwallowedRows(text, delimiter, columns) {
  const isRow = (line) => line.split(delimiter).length === columns.length;
  const suspects = columns.map(() => 0);
  const needed = columns.map(() => 0);
  for (const row of splitCells(text, delimiter, true)) {
    const lines = row.join(delimiter).split(/\r\n|\n|\r/).filter(Boolean);
    const isMost = lines.length > 1 && 2 * lines.filter(isRow).length >= lines.length;
    const isSuspect = isMost && isRow(lines[0]) && isRow(lines.at(-1));
    row.forEach((cell, place) => {
      if (!cell.startsWith('"') || place >= columns.length) return;
      if (isSuspect && /[\r\n]/.test(cell)) suspects[place] += 1;
      else if (/[\r\n]/.test(cell) || cell.includes(delimiter)) needed[place] += 1;
    });
  }
  const place = suspects.findIndex((count, column) => count > needed[column]);
  if (place >= 0 && columns.length > 1) {
    throw new Error(
      `A quoted cell of "${columns[place]}" spans lines that would be rows of their own: use deniable privatize on the ` +
        "command line, with --quoting none if quotes are ordinary characters, or --quoting standard if they are meant.",
    );
  }
}

/** Return the rows of delimited text; cells may be quoted, and quotes in them doubled; or the cells as they stand. */
function splitCells(text, delimiter, asTheyStand = false) {
  const rows = [[]];
  const cell = new RegExp(`"((?:[^"]|"")*)"|([^${delimiter}\\r\\n]*)`, "y");
  let place = 0;
  while (place < text.length) {
    cell.lastIndex = place;
    const [whole, quoted, plain] = cell.exec(text);
    rows.at(-1).push(asTheyStand ? whole : quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    place += whole.length;
    if (text[place] === delimiter) {
      place += 1;
      if (place === text.length) rows.at(-1).push("");
      continue;
    }
    const lineBreak = /\r?\n|\r/y;
    lineBreak.lastIndex = place;
    const end = lineBreak.exec(text);
    if (end === null && place < text.length) {
      throw new Error(`Row ${rows.length} has a quote inside a cell: double it, and quote the cell.`);
    }
    place += end === null ? 0 : end[0].length;
    if (place < text.length) rows.push([]);
  }
  return rows.filter((row) => row.length > 1 || row[0]);
}

/** Return the texts of a column: null where a cell has none. */
export function listTexts(table, column) {
  const place = table.columns.indexOf(column);
  return table.rows.map((row, number) => {
    const cell = row[place] ?? null;
    if (cell !== null && typeof cell !== "string") {
      throw new Error(`Row ${number + 1} of column "${column}" holds a value that is not text: choose another column.`);
    }
    return cell;
  });
}

/** Return the columns that hold nothing but texts. */
export function listTextColumns(table) {
  return table.columns.filter((_, place) =>
    table.rows.every((row) => row[place] === undefined || row[place] === null || typeof row[place] === "string"),
  );
}

/** Return every column with its cells as texts, null where there is none. */
export function listColumns(table) {
  const show = (cell) => (typeof cell === "string" ? cell : cell === undefined || cell === null ? null : JSON.stringify(cell));
  return Object.fromEntries(table.columns.map((name, place) => [name, table.rows.map((row) => show(row[place]))]));
}

/** Return the column that most likely holds the texts: one named text, or the one with the longest cells. */
export function guessTextColumn(table) {
  const columns = listTextColumns(table);
  if (columns.includes("text")) return "text";
  const lengths = new Map(columns.map((column) => [column, measureColumn(table, column)]));
  return columns.sort((one, other) => lengths.get(other) - lengths.get(one))[0];
}

function measureColumn(table, column) {
  return listTexts(table, column).reduce((sum, text) => sum + (text ?? "").length, 0);
}

/**
 * Return the table's file with other texts in one column.
 * @param {Table} table
 * @param {string} column with the texts
 * @param {(string|null)[]} texts one for each row
 * @param {string[]} copied names of the other columns that are copied unchanged; the rest is left out
 */
export function writeTable(table, column, texts, copied) {
  const columns = table.columns.filter((name) => name === column || copied.includes(name));
  const places = columns.map((name) => table.columns.indexOf(name));
  const place = table.columns.indexOf(column);
  const rows = table.rows.map((row, number) => places.map((other) => (other === place ? texts[number] : row[other])));
  if (table.format === "txt") return `${rows.map(([line]) => line).join("\n")}\n`;
  if (table.format === "jsonl") {
    return rows
      .map((row) => JSON.stringify(Object.fromEntries(columns.map((name, other) => [name, row[other]]))) + "\n")
      .join("");
  }
  return [columns, ...rows].map((row) => `${row.map((cell) => quoteCell(cell, table)).join(table.delimiter)}\n`).join("");
}

function quoteCell(cell, table) {
  const text = cell ?? "";
  const needsQuotes = ['"', "\n", "\r", table.delimiter].some((sign) => text.includes(sign));
  return needsQuotes ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Return a file's name with an ending of its own before the last one: reviews.csv, private: reviews.private.csv. */
export function addEnding(name, ending) {
  const dot = name.lastIndexOf(".");
  return `${name.slice(0, dot)}.${ending}${name.slice(dot)}`;
}

/** Return a command line that a POSIX shell reads as these words. */
export function quoteCommand(words) {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`)).join(" ");
}

/**
 * Return the command that privatizes a table.
 * @param {Table} table
 * @param {string} column with the texts
 * @param {string[]} copied names of the columns that are copied unchanged
 * @param {Record<string, string|number>} choice mechanism and epsilon
 * @param {string[]} furtherOptions those that the service was started with
 */
export function formatCommand(table, column, copied, choice, furtherOptions) {
  const path = (name) => (name.startsWith("-") ? `./${name}` : name);
  const words = ["deniable", "privatize", path(table.name)];
  if (table.format !== "txt" && column !== "text") words.push("--column", column);
  const named = copied.map((name) => quoteCell(name, { delimiter: "," })).join(",");
  if (copied.length < table.columns.length - 1) words.push("--columns", named);
  if (table.delimiter === ";") words.push("--delimiter", ";");
  for (const [name, value] of Object.entries(choice)) words.push(`--${name}`, `${value}`);
  words.push(...furtherOptions, "--output", path(addEnding(table.name, "private")));
  return quoteCommand(words);
}
