// What may replace one word: a dialog with the probabilities as a bar chart.

import { find, isolate, make } from "./dom.js";
import { post } from "./service.js";
import { formatPercent } from "./wording.js";

const SVG = "http://www.w3.org/2000/svg";

/**
 * Show the law of a word in a dialog, which gives the focus back when it is closed.
 * @param {string} word
 * @param {object} choice mechanism and epsilon; empty where the service has a fixed release
 */
export async function explainWord(word, choice) {
  const law = await post("v1/explain", { word, ...choice });
  find("explain-title").replaceChildren("What may replace ", isolate(word));
  find("explain-body").replaceChildren(...describeReading(law), drawLaw(law), ...describeLaw(law));
  find("explain").showModal();
  find("explain-title").focus();
}

/** Return how the word is read, where that is not as it stands. */
function describeReading({ is_known: isKnown, read_as: readAs, hidden_class: hidden, class_size: size }) {
  if (hidden) {
    const text = `It is replaced by one of ${size.toLocaleString("en")} words of the class ${hidden}. The output does not reveal which one it was.`;
    return [make("p", {}, text)];
  }
  return isKnown ? [] : [make("p", {}, "It is not in the vocabulary, and is read as the public word ", isolate(readAs), ".")];
}

/** Return the most likely outputs as a table whose rows hold bars, so that words and figures can be read too. */
function drawLaw(law) {
  const highest = Math.max(...law.outputs.map(({ probability }) => probability));
  const headings = ["Output", "Bar", "Probability"].map((name) => make("th", { scope: "col" }, name));
  return make(
    "table",
    { class: "law" },
    make("caption", {}, describeTable(law)),
    make("thead", { class: "visually-hidden" }, make("tr", {}, ...headings)),
    make("tbody", {}, ...law.outputs.map((output) => drawOutput(output, law, highest))),
  );
}

function describeTable({ outputs, draws }) {
  const source = draws ? `, shares of ${draws.toLocaleString("en")} draws` : "";
  return outputs.length === 1 ? `The only output${source}` : `The ${outputs.length} most likely outputs${source}`;
}

function drawOutput({ word, hidden_class: name, probability }, { read_as: readAs, hidden_class: hidden }, highest) {
  const isSame = name ? name === hidden : word === readAs;
  const label = name ? [`any word of ${name}`] : [isolate(word)];
  if (isSame && !name) label.push(" (as it was read)");
  return make(
    "tr",
    isSame ? { class: "same" } : {},
    make("th", { scope: "row" }, ...label),
    make("td", { class: "bar-cell" }, drawBar(probability / highest)),
    make("td", {}, formatPercent(probability)),
  );
}

function drawBar(share) {
  const picture = document.createElementNS(SVG, "svg");
  picture.setAttribute("aria-hidden", "true");
  for (const [name, width] of [["bar-track", 100], ["bar", Math.max(100 * share, 0.4)]]) {
    const bar = document.createElementNS(SVG, "rect");
    const attributes = { class: name, y: "15%", height: "70%", width: `${width}%`, rx: "2" };
    for (const [attribute, value] of Object.entries(attributes)) bar.setAttribute(attribute, value);
    picture.append(bar);
  }
  return picture;
}

function describeLaw({ kept, guessed, band, covering, covered_share: share, hidden_class: hidden, attacker, outcomes, release }) {
  const words = covering === 1 ? "1 word makes" : `${covering.toLocaleString("en")} words make`;
  const guess = guessed === null ? "" : `It is guessed in ${formatPercent(guessed)} of draws${band ? ` (${band.name})` : ""}. `;
  const stays = hidden ? "" : `It stays unchanged with probability ${formatPercent(kept)}. ${guess}`;
  const frequencies = outcomes ? `. By frequency: ${outcomes.by_frequency}` : "";
  return [
    make("p", {}, `${stays}${words} up ${100 * share}% of the outputs.`),
    make("p", { class: "soft" }, `${release.mechanism} at epsilon ${release.epsilon}: ${attacker}${frequencies}.`),
  ];
}
