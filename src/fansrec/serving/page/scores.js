/** The bar of a score: how it compares with the best score of the same answer. Nothing is stretched, so scores that
 * are nearly equal have bars that are nearly equal. */

import { formatScore } from "./format.js";

/** The share of the best score, from 0 to 1. Scores that are logarithms become the probabilities that they stand for,
 * relative to the best one; sums of weights or counts are compared as they are.
 * @param {"log"|"linear"} scale */
export function shareOf(score, best, scale) {
  if (scale === "log") return Math.exp(Math.min(0, score - best));
  return best > 0 ? Math.max(0, Math.min(1, score / best)) : 0;
}

/** The tooltip of a score and its bar. */
export function explainShare(score, best, scale) {
  const share = 100 * shareOf(score, best, scale);
  const percent = share > 0 && share < 1 ? "less than 1%" : `${share.toFixed(0)}%`;
  const what = scale === "log"
    ? `${percent} as probable as the best item here, by this model's own estimate (its scores are logarithms)`
    : `${percent} of the best score here`;
  return `Score ${formatScore(score)}. The bar: ${what}.`;
}
