/** Validation of data from outside (a link, a file, the browser's storage), which may be anything: here it becomes what
 * the page and the service accept. Everything that is restored passes through here. */

import { validControls } from "./controls.js";
import { START } from "./state.js";

const MAX_ID_LENGTH = 1000; // characters, as in the service

const isText = (value) => typeof value === "string";
const isTextOrNone = (value) => value === null || value === undefined || isText(value);
const isId = (value) => (isText(value) ? value.length <= MAX_ID_LENGTH : Number.isSafeInteger(value));
const clamp = (value, max, fallback) =>
  (Number.isFinite(value) && value !== 0 ? Math.max(1, Math.min(max, Math.trunc(value))) : fallback);

/** Whether the value is an item with the fields that the page shows. */
export const isItem = (one) =>
  isId(one?.item) && isText(one.category) && isTextOrNone(one.name) && isTextOrNone(one.group);

/**
 * Ids or items and their rules, within the limits of the service.
 * @param {{items?: any[], blocked?: any[], only?: string[], onlyOther?: string[], k?: number, perGroup?: number,
 *   keepSeen?: boolean}} values  @param {{items: number, rule_items: number, k: number}} limits
 * @returns {{items: any[], blocked: any[], omitted: number, rules: object}} `omitted`: number of items above the limits
 */
export function validate(values, limits) {
  const { items = [], blocked = [], only = [], onlyOther = [], k, perGroup, keepSeen = false } = values;
  const kept = { items: items.slice(0, limits.items), blocked: blocked.slice(0, limits.rule_items) };
  const rules = {
    only: [...new Set(only)].slice(0, limits.rule_items),
    onlyOther: [...new Set(onlyOther)].slice(0, limits.rule_items),
    k: clamp(k, limits.k, Math.min(START.k, limits.k)),
    perGroup: clamp(perGroup, limits.k, null), // a limit above the number of items has no effect
    keepSeen,
    ...validControls(values),
  };
  const omitted = items.length - kept.items.length + blocked.length - kept.blocked.length;
  return { ...kept, omitted, rules };
}

/** The ids that an item may have, without duplicates. */
export const validIds = (ids) => [...new Set(ids)].filter(isId);

/** The saved lists as {name: {text, saved}}; anything else in the storage is left out. */
export function validSavedLists(value) {
  const isSaved = ([, one]) => isText(one?.text) && Number.isFinite(one.saved);
  return Object.fromEntries(Object.entries(value ?? {}).filter(isSaved));
}
