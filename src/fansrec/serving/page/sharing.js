/** A list outside of the page: in a link, in a file, as text. Inside it is always {items, rules}. */

import { checked, isItem } from "./checking.js";
import { labelOf } from "./words.js";

const KIND = "fansrec-list"; // so that some other JSON file is not taken for a list

/** The fragment never reaches the service, so a shared list is told to nobody but the one who gets the link. */
export function toFragment(state) {
  const parts = new URLSearchParams();
  for (const { item } of state.list) parts.append("i", String(item));
  for (const { item } of state.blocked) parts.append("block", String(item));
  for (const category of state.only) parts.append("only", category);
  if (state.list.length || state.blocked.length || state.only.length) parts.set("k", String(state.k));
  if (state.perGroup) parts.set("per", String(state.perGroup));
  if (state.keepSeen) parts.set("repeat", "1");
  if (parts.size) for (const model of state.models) parts.append("model", model);
  return parts.toString();
}

/** Ids, rules and models of a link; null where the fragment holds none. */
export function fromFragment(fragment, limits) {
  const parts = new URLSearchParams(fragment.replace(/^#/, ""));
  if (!["i", "block", "only", "k"].some((name) => parts.has(name))) return null;
  const told = {
    items: parts.getAll("i"),
    blocked: parts.getAll("block"),
    only: parts.getAll("only"),
    k: Number.parseInt(parts.get("k"), 10),
    perGroup: Number.parseInt(parts.get("per"), 10),
    keepSeen: parts.get("repeat") === "1",
  };
  return { ...checked(told, limits), models: parts.getAll("model") };
}

const plain = ({ item, name, group, category }) => ({ item, name, group, category });

export const toText = (state) => state.list.map((entry) => labelOf(entry)).join("\n");
export const toJson = (state) => `${JSON.stringify({
  kind: KIND, items: state.list.map(plain), blocked: state.blocked.map(plain),
}, null, 2)}\n`;

/** What a file or the storage holds; throws where that is no list.
 * @returns {{items: any[], blocked: any[], left: number}} */
export function fromJson(text, limits) {
  let told;
  try {
    told = JSON.parse(text);
  } catch {
    throw new Error("This file is not JSON.");
  }
  const lists = [told?.items, told?.blocked ?? []];
  if (told?.kind !== KIND || !lists.every((list) => Array.isArray(list) && list.every(isItem))) {
    throw new Error("This file is not a list saved by this page.");
  }
  const texts = ({ item, name, group, category }) => ({ item, name: name ?? null, group: group ?? null, category });
  const [items, blocked] = lists.map((list) => list.map(texts));
  return checked({ items, blocked }, limits);
}

export function download(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** The clipboard's own way exists on secure hosts only; elsewhere a selection is copied. */
export async function copy(text, place = document.body) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = document.createElement("textarea");
  field.value = text;
  place.append(field);
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  if (!copied) throw new Error("The browser did not let the page copy.");
}
