/** A list outside of the page: in a link, in a file, as text, in the storage of the browser. */

import { NAMES } from "./controls.js";
import { isItem, validate, validSavedLists } from "./validation.js";
import { labelOf } from "./format.js";

const ENTRY = "fans-lists"; // of the local storage: {name: {text, saved}}
const KIND = "fansrec-list"; // so that another JSON file is not taken for a list

/** The list as a URL fragment, which browsers never send to the service: only the recipient of the link sees it. */
export function toFragment(state) {
  const parts = new URLSearchParams();
  for (const { item } of state.list) parts.append("i", String(item));
  for (const { item } of state.blocked) parts.append("block", String(item));
  for (const category of state.only) parts.append("only", category);
  for (const category of state.onlyOther) parts.append("only2", category);
  if (parts.size) parts.set("k", String(state.k));
  if (state.perGroup) parts.set("per", String(state.perGroup));
  if (state.keepSeen) parts.set("repeat", "1");
  for (const name of NAMES) if (state[name]) parts.set(name, String(state[name]));
  if (parts.size) for (const model of state.models) parts.append("model", model);
  return parts.toString();
}

/** Ids, rules and models of a link, or null if the fragment has none. */
export function fromFragment(fragment, limits) {
  const parts = new URLSearchParams(fragment.replace(/^#/, ""));
  if (!["i", "block", "only", "only2", "k"].some((name) => parts.has(name))) return null;
  const values = {
    items: parts.getAll("i"),
    blocked: parts.getAll("block"),
    only: parts.getAll("only"),
    onlyOther: parts.getAll("only2"),
    k: Number.parseInt(parts.get("k"), 10),
    perGroup: Number.parseInt(parts.get("per"), 10),
    keepSeen: parts.get("repeat") === "1",
    ...Object.fromEntries(NAMES.map((name) => [name, Number.parseInt(parts.get(name), 10)])),
  };
  return { ...validate(values, limits), models: parts.getAll("model") };
}

const plain = ({ item, name, group, category }) => ({ item, name, group, category });

export const toText = (state) => state.list.map((entry) => labelOf(entry)).join("\n");
export const toJson = (state) => `${JSON.stringify({
  kind: KIND, items: state.list.map(plain), blocked: state.blocked.map(plain),
}, null, 2)}\n`;

/** Parse a list from a file or the storage; throw an Error if it is not one.
 * @returns {{items: any[], blocked: any[], omitted: number}} */
export function fromJson(text, limits) {
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error("This file is not JSON.");
  }
  const lists = [value?.items, value?.blocked ?? []];
  if (value?.kind !== KIND || !lists.every((list) => Array.isArray(list) && list.every(isItem))) {
    throw new Error("This file is not a list saved by this page.");
  }
  const texts = ({ item, name, group, category }) => ({ item, name: name ?? null, group: group ?? null, category });
  const [items, blocked] = lists.map((list) => list.map(texts));
  return validate({ items, blocked }, limits);
}

export function download(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Copy with the clipboard API, or by a selection on hosts that are not secure, where the API is missing. */
export async function copy(text, container = document.body) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = document.createElement("textarea");
  field.value = text;
  container.append(field);
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  if (!copied) throw new Error("The browser did not allow copying.");
}

function storedLists() {
  try {
    return validSavedLists(JSON.parse(localStorage.getItem(ENTRY)));
  } catch {
    return {}; // disabled or foreign storage counts as empty
  }
}

/** The saved lists, the newest first. @returns {{name: string, saved: number, text: string}[]} */
export const savedLists = () =>
  Object.entries(storedLists())
    .map(([name, { saved, text }]) => ({ name, saved, text }))
    .sort((one, other) => other.saved - one.saved);

export const saveList = (name, text) =>
  localStorage.setItem(ENTRY, JSON.stringify({ ...storedLists(), [name]: { text, saved: Date.now() } }));

export function deleteList(name) {
  const { [name]: deleted, ...others } = storedLists();
  localStorage.setItem(ENTRY, JSON.stringify(others));
}
