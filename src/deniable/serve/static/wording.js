// Shares and budgets in words.

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

/** Return a share of words as a fraction that people know, the nearest one. */
export function describeShare(share) {
  const distances = FRACTIONS.map(([value]) => Math.abs(Math.log(Math.max(share, 1e-6) / value)));
  return FRACTIONS[distances.indexOf(Math.min(...distances))][1];
}

/** Return a share in percent. */
export function formatPercent(share) {
  const percent = 100 * share;
  return `${percent < 0.095 && percent > 0 ? percent.toPrecision(1) : percent.toFixed(1)} %`;
}

/** Return what an epsilon of a whole record means. */
export function describeRecordEpsilon(epsilon) {
  if (epsilon > 10) return "a bound of that size excludes nothing: a text as a whole is not hidden";
  const odds = Math.exp(epsilon);
  return `anyone's odds between two texts change at most ${odds < 10 ? odds.toFixed(1) : Math.round(odds)}-fold`;
}

/** Return an epsilon in three digits or more, rounded up. */
export function formatEpsilon(epsilon) {
  return epsilon >= 100 ? Math.ceil(epsilon).toLocaleString("en") : (Math.ceil(100 * epsilon) / 100).toString();
}
