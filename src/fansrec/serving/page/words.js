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
export const cut = (text, longest = 60) => (text.length > longest ? `${text.slice(0, longest - 1)}…` : text);
export const shortHash = (hash) => hash.slice(0, 8);

const NAMED = 10; // of many names so many are told

export function listed(names) {
  const told = names.slice(0, NAMED).map((name) => cut(String(name))).join(", ");
  return names.length > NAMED ? `${told} and ${count(names.length - NAMED, "other")}` : told;
}

/** Of a list that was restored: how much of it there was no room for. */
export const leftWords = (left) => (left ? ` ${count(left, "item")} more than this service takes: left out.` : "");

const FIELDS = { lists: "Your list", k: "How many", max_per_group: "At most per artist", exclude: "Blocked",
  categories: "Only these categories", keep_seen: "Repeats allowed", search: "Search", id: "The link" };

/** What the service calls by the path of a field in a request, as the page calls it. */
function fieldWords(where) {
  const [field, ...places] = where.split(".");
  const place = Number.parseInt(places[field === "lists" ? 1 : 0], 10); // the page asks about one list
  return `${FIELDS[field] ?? field}${Number.isNaN(place) ? "" : `, item ${place + 1}`}`;
}

/** What is wrong with each field that was refused. @param {{where: string, what: string}[]} errors */
export const refusalWords = (errors) =>
  `The service does not take this. ${errors.map(({ where, what }) => `${fieldWords(where)}: ${what}.`).join(" ")}`;

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
