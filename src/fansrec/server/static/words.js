/** How items, times and counts are put into words. */

/** The name without the group, where it carries both: that stands beside it anyway. */
export function titleOf({ item, name, group }) {
  if (!name) return String(item);
  if (!group) return name;
  if (name.endsWith(` - ${group}`)) return name.slice(0, -group.length - 3);
  if (name.startsWith(`${group} - `)) return name.slice(group.length + 3);
  return name;
}

export const labelOf = ({ item, name }) => name ?? String(item);
export const count = (n, one, many = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
export const shortHash = (hash) => hash.slice(0, 8);

/** Categories that were learned have numbers for names. */
export const categoryWords = (category) => (/^\d+$/.test(category) ? `category ${category}` : category);

/** Two digits that differ, whatever the scale of a model. */
export function scoreWords(score) {
  const size = Math.abs(score);
  const words = size >= 100 ? size.toFixed(0) : size >= 0.1 || size === 0 ? size.toFixed(2) : size.toPrecision(2);
  return score < 0 ? `−${words}` : words;
}

export function milliseconds(value) {
  const digits = value < 10 ? 2 : value < 100 ? 1 : 0;
  return `${value.toFixed(digits)} ms`;
}

const WAYS = { "one-pass": "in one pass", autoregressive: "one by one", recall: "by recall" };
/** How a model writes a continuation. */
export const wayOf = (generation) => WAYS[generation] ?? generation;
