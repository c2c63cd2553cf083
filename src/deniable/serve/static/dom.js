// Elements, announcements and problems. Text goes in as text, never as markup.

/** Return the element with an id. */
export function find(id) {
  return document.getElementById(id);
}

/**
 * Return a new element.
 * @param {string} tag
 * @param {Record<string, string>} attributes
 * @param {...(Node|string)} children strings become text
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Return a text that may run in either direction, kept apart from the sentence around it. */
export function isolate(text) {
  return make("bdi", { class: "quoted" }, text);
}

/** Show an error in the alert beside a form; null hides it. */
export function showProblem(id, error) {
  const place = find(id);
  place.hidden = error === null;
  place.textContent = error === null ? "" : error.message;
}

/** Fill a select with options. */
export function fillSelect(select, entries, chosen) {
  select.replaceChildren(
    ...entries.map(([value, text]) => {
      const option = make("option", { value }, text);
      option.selected = value === chosen;
      return option;
    }),
  );
}

/** Fill a list of facts: a label, and one or more lines for each. */
export function fillFacts(list, facts) {
  list.replaceChildren(
    ...facts.flatMap(([label, ...lines]) => [
      make("dt", {}, label),
      ...lines.map((line) => make("dd", { dir: "auto" }, line)),
    ]),
  );
}

/** Call a function with the files that are dropped on an element or chosen with an input. */
export function acceptFiles(drop, input, take) {
  const accept = (files) => {
    if (files.length) take([...files]);
  };
  input.addEventListener("change", () => {
    accept(input.files);
    input.value = "";
  });
  drop.addEventListener("dragover", (event) => {
    event.preventDefault();
    drop.classList.add("over");
  });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    accept(event.dataTransfer.files);
  });
}

/** Let the user save a text as a file. */
export function saveFile(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

const NUMBER = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** Return a whole number with commas, and what is counted. */
export function formatCount(number, noun) {
  return `${NUMBER.format(number)} ${noun}${number === 1 ? "" : "s"}`;
}
