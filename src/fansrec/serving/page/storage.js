/** Lists kept in this browser under a name: {name: {text, saved}} in one entry of its storage. */

import { checkedSaved } from "./checking.js";

const PLACE = "fans-lists";

function all() {
  try {
    return checkedSaved(JSON.parse(localStorage.getItem(PLACE)));
  } catch {
    return {}; // storage that is switched off or holds something else counts as empty
  }
}

/** The newest first. @returns {{name: string, saved: number, text: string}[]} */
export const savedLists = () =>
  Object.entries(all())
    .map(([name, { saved, text }]) => ({ name, saved, text }))
    .sort((one, other) => other.saved - one.saved);

export const saveList = (name, text) =>
  localStorage.setItem(PLACE, JSON.stringify({ ...all(), [name]: { text, saved: Date.now() } }));

export function forgetList(name) {
  const { [name]: gone, ...others } = all();
  localStorage.setItem(PLACE, JSON.stringify(others));
}
