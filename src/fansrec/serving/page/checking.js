/** What comes from outside (a link, a file, the storage of this browser) is anything at all; here it becomes what the
 * page and the service can hold. Nothing is restored that has not passed through here. */

import { START } from "./state.js";

const LONGEST_ID = 1000; // characters, as the service has it

const isText = (value) => typeof value === "string";
const isTextOrNone = (value) => value === null || value === undefined || isText(value);
const isId = (value) => (isText(value) ? value.length <= LONGEST_ID : Number.isSafeInteger(value));
const within = (value, most, otherwise) =>
  (Number.isFinite(value) && value !== 0 ? Math.max(1, Math.min(most, Math.trunc(value))) : otherwise);

/** Whether it is an item with what the page shows of it. */
export const isItem = (one) =>
  isId(one?.item) && isText(one.category) && isTextOrNone(one.name) && isTextOrNone(one.group);

/**
 * Ids or items and the rules beside them, within the service's limits.
 * @param {{items: number, rule_items: number, k: number}} limits
 * @returns {{items: any[], blocked: any[], left: number, rules: object}} `left`: items that were too many
 */
export function checked({ items = [], blocked = [], only = [], k, perGroup, keepSeen = false }, limits) {
  const kept = { items: items.slice(0, limits.items), blocked: blocked.slice(0, limits.rule_items) };
  const rules = {
    only: [...new Set(only)].slice(0, limits.rule_items),
    k: within(k, limits.k, Math.min(START.k, limits.k)),
    perGroup: within(perGroup, limits.k, null), // more of a group than items in all is no rule
    keepSeen,
  };
  const left = items.length - kept.items.length + blocked.length - kept.blocked.length;
  return { ...kept, left, rules };
}

/** Those that an item may have, each once: no other needs to be asked for. */
export const possibleIds = (ids) => [...new Set(ids)].filter(isId);

/** Saved lists as {name: {text, saved}}; what else the storage holds is left out. */
export function checkedSaved(told) {
  const isSaved = ([, one]) => isText(one?.text) && Number.isFinite(one.saved);
  return Object.fromEntries(Object.entries(told ?? {}).filter(isSaved));
}
