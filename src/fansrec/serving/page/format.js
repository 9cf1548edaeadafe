/** Texts for items, times, counts and refusals. */

/** The name without the group, if it contains both: the group is shown beside it. */
export function titleOf({ item, name, group }) {
  if (!name) return String(item);
  if (!group) return name;
  if (name.endsWith(` - ${group}`)) return name.slice(0, -group.length - 3);
  if (name.startsWith(`${group} - `)) return name.slice(group.length + 3);
  return name;
}

export const labelOf = ({ item, name }) => name ?? String(item);
export const formatCount = (n, one, many = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
export const cut = (text, longest = 60) => (text.length > longest ? `${text.slice(0, longest - 1)}…` : text);
export const shortHash = (hash) => hash.slice(0, 8);

const MAX_NAMES = 10; // names that are listed; the others are counted

export function formatNames(names) {
  const listed = names.slice(0, MAX_NAMES).map((name) => cut(String(name))).join(", ");
  return names.length > MAX_NAMES ? `${listed} and ${formatCount(names.length - MAX_NAMES, "other")}` : listed;
}

/** For a restored list: how many of its items exceed the limits of the service. */
export const formatOmitted = (omitted) =>
  (omitted ? ` ${formatCount(omitted, "item")} more than this service accepts: left out.` : "");

const FIELDS = { lists: "Your list", k: "How many", max_per_group: "At most", exclude: "Blocked",
  categories: "Only these categories", keep_seen: "Repeats allowed", diversity: "Diversity",
  popularity: "Popularity", freshness: "Freshness", search: "Search", id: "The link" };

/** The label on the page of a field, which the service names by its path in the request. */
function formatField(where) {
  const [field, ...indices] = where.split(".");
  const index = Number.parseInt(indices[field === "lists" ? 1 : 0], 10); // the page sends one list
  return `${FIELDS[field] ?? field}${Number.isNaN(index) ? "" : `, item ${index + 1}`}`;
}

/** The message for fields that the service refused. @param {{where: string, what: string}[]} errors */
export const formatRefusal = (errors) =>
  `The service does not accept this. ${errors.map(({ where, what }) => `${formatField(where)}: ${what}.`).join(" ")}`;

/** The message of a problem, with the seconds until the next attempt unless they are null. */
export const formatFailure = ({ message }, seconds) =>
  (seconds === null ? message : `${message} Trying again in ${Math.ceil(seconds)} s.`);

/** The names of learned categories are numbers; an item that no model knows has none. */
export const formatCategory = (category) =>
  (category === "" ? "unknown here, skipped" : /^\d+$/.test(category) ? `category ${category}` : category);

/** What the models call a group, such as "artist". */
export const groupWord = (models) =>
  [...new Set(models.filter((model) => model.groups).map((model) => model.group_name ?? "group"))].join(" or ");

/** The score with two significant digits, whatever the scale of the model. */
export function formatScore(score) {
  const size = Math.abs(score);
  const text = size >= 100 ? size.toFixed(0) : size >= 0.1 || size === 0 ? size.toFixed(2) : size.toPrecision(2);
  return score < 0 ? `−${text}` : text;
}

export function formatMilliseconds(value) {
  const digits = value < 10 ? 2 : value < 100 ? 1 : 0;
  return `${value.toFixed(digits)} ms`;
}

const MODES = { "one-pass": "in one pass", autoregressive: "one by one", recall: "by recall" };
/** The text for a generation mode. */
export const formatMode = (generation) => MODES[generation] ?? generation;
