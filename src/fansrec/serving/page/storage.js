/** Lists saved in this browser by name: {name: {text, saved}} in one entry of its local storage. */

import { validSavedLists } from "./validation.js";

const ENTRY = "fans-lists";

function all() {
  try {
    return validSavedLists(JSON.parse(localStorage.getItem(ENTRY)));
  } catch {
    return {}; // disabled or foreign storage counts as empty
  }
}

/** The saved lists, the newest first. @returns {{name: string, saved: number, text: string}[]} */
export const savedLists = () =>
  Object.entries(all())
    .map(([name, { saved, text }]) => ({ name, saved, text }))
    .sort((one, other) => other.saved - one.saved);

export const saveList = (name, text) =>
  localStorage.setItem(ENTRY, JSON.stringify({ ...all(), [name]: { text, saved: Date.now() } }));

export function deleteList(name) {
  const { [name]: deleted, ...others } = all();
  localStorage.setItem(ENTRY, JSON.stringify(others));
}
