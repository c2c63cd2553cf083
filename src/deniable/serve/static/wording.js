// Shares and budgets in words.

const MAX_MEANINGFUL_EPSILON = 10;

const FRACTIONS = [
  [1 / 100, "one word in a hundred"],
  [1 / 50, "one word in fifty"],
  [1 / 20, "one word in twenty"],
  [1 / 15, "one word in fifteen"],
  [1 / 12, "one word in twelve"],
  [1 / 10, "one word in ten"],
  [1 / 8, "one word in eight"],
  [1 / 7, "one word in seven"],
  [1 / 6, "one word in six"],
  [1 / 5, "one word in five"],
  [1 / 4, "one word in four"],
  [1 / 3, "one word in three"],
  [2 / 5, "two words in five"],
  [1 / 2, "every second word"],
  [3 / 5, "three words in five"],
  [2 / 3, "two words in three"],
  [3 / 4, "three words in four"],
  [4 / 5, "four words in five"],
  [9 / 10, "nine words in ten"],
  [1, "nearly every word"],
];

/** Return a share of words as a fraction that people know, the largest one that is not above it. */
export function describeLeastShare(share) {
  const fraction = FRACTIONS.findLast(([value]) => value <= share);
  return fraction ? fraction[1] : `${formatLower(100 * share)}% of words`;
}

/** Return a share of words as a fraction that people know, the nearest one. */
export function describeShare(share) {
  const distances = FRACTIONS.map(([value]) => Math.abs(Math.log(Math.max(share, 1e-6) / value)));
  return FRACTIONS[distances.indexOf(Math.min(...distances))][1];
}

/** Return a share in percent. */
export function formatPercent(share) {
  const percent = 100 * share;
  return `${percent < 0.095 && percent > 0 ? percent.toPrecision(1) : percent.toFixed(1)}%`;
}

/** Return what an epsilon of a whole text means. */
export function describeRecordEpsilon(epsilon) {
  if (epsilon > MAX_MEANINGFUL_EPSILON) return "so large that a text as a whole is not protected";
  return `anyone's odds between two texts change by a factor of at most ${formatUpper(Math.exp(epsilon))}`;
}

const FOUND = "Anybody who has an original can look for its private version, and will often find it.";

/**
 * Return what a release protects as a whole: a tone of the box, a title and a sentence.
 * @param {number[]|null} lengths numbers of words of the texts; null if they are not known
 * @param {number} loss epsilon of each word
 */
export function judgeWords(lengths, loss) {
  const title = "Each word is protected; whole texts are not.";
  if (lengths === null) return { tone: "caution", title, sentence: `The epsilons of all words of a text add up. ${FOUND}` };
  const sorted = [...lengths].filter((length) => length > 0).sort((one, other) => one - other);
  if (!sorted.length) return { tone: "plain", title: "There are no words to protect.", sentence: "" };
  const median = sorted[Math.floor((sorted.length - 1) / 2)];
  const epsilon = median * loss;
  const bound = `Epsilon of a text of median length, ${median} word${median === 1 ? "" : "s"}, is ${formatUpper(epsilon)}`;
  if (epsilon > MAX_MEANINGFUL_EPSILON) {
    return { tone: "caution", title, sentence: `${bound}; above 10 it excludes next to nothing. ${FOUND}` };
  }
  const sentence = `${bound}: ${describeRecordEpsilon(epsilon)}. Longer texts are protected less.`;
  return { tone: "good", title: "Each word is protected, and a text of median length as a whole.", sentence };
}

/** Return what rewriting texts as a whole protects: a tone of the box, a title and a sentence. */
export function judgeRecords(epsilon) {
  if (epsilon > MAX_MEANINGFUL_EPSILON) {
    const sentence = `Epsilon of each text is ${formatUpper(epsilon)}; above 10 it excludes next to nothing.`;
    return { tone: "caution", title: "Texts are rewritten, but hardly protected.", sentence };
  }
  const sentence = `Epsilon of each text is ${formatUpper(epsilon)}: ${describeRecordEpsilon(epsilon)}.`;
  return { tone: "good", title: "Each text is protected as a whole.", sentence };
}

/** Return the least number of three digits, or whole one, that is at least a positive number: how upper bounds are shown. */
export function formatUpper(value) {
  return formatOutward(value, 1n);
}

/** Return the largest number of three digits, or whole one, that is at most a positive number: how lower bounds are shown. */
export function formatLower(value) {
  return formatOutward(value, 0n);
}

/** Return a positive number with three digits, or whole, one step up where anything was cut off. */
function formatOutward(value, step) {
  if (!Number.isFinite(value)) return `${value}`;
  // The shortest digits that are read as this very number, as the command line rounds them.
  const [mantissa, exponent] = value.toExponential().split("e");
  const digits = mantissa.replace(".", "");
  const kept = Math.max(3, Number(exponent) + 1);
  const head = digits.slice(0, kept);
  const rounded = digits.length > kept ? `${BigInt(head) + step}` : head;
  return Number(`${rounded}e${Number(exponent) + 1 - head.length}`).toLocaleString("en", { maximumSignificantDigits: 15 });
}
