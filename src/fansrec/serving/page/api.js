/** The API of the service as the page uses it; every failure is a Problem whose message says what to do. */

/**
 * @typedef {{item: string|number, name: string|null, group: string|null, category: string, catalog?: string}} Item
 * @typedef {Item & {score: number}} Position
 * @typedef {{name: string, hash: string, title: string, recipe: string|null, generation: string, items: number,
 *   names: boolean, groups: boolean, dates: boolean, counts: boolean, group_name: string|null,
 *   categories: {name: string, items: number}[], score_scale: "log"|"linear", explains: boolean,
 *   catalog: string}} Model
 * @typedef {{positions: Position[], unknown: (string|number)[], reason: string|null, fallback: string|null,
 *   model: {name: string, hash: string}, milliseconds: number, roundTrip: number}} Continuation
 * @typedef {{parts: Record<string, number>, because: {item: string|number, name: string|null, weight: number}[],
 *   lists: {id: string|null, title: string|null, similarity: number, shared: number}[]}} Explanation
 */

import { formatRefusal } from "./format.js";

const KEY_ENTRY = "fans-api-key"; // in the session storage, which ends with the tab
const IDS_PER_REQUEST = 100;
const MAX_URL = 8000; // characters, which every proxy accepts

export class Problem extends Error {
  /** @param {number} status 0 if there was no answer  @param {number|null} retryAfter seconds */
  constructor(status, detail, retryAfter = null) {
    super(detail);
    this.status = status;
    this.retryAfter = retryAfter;
  }

  get unreachable() {
    return this.status === 0;
  }

  get needsKey() {
    return this.status === 401 || this.status === 403;
  }

  /** Whether the same request may succeed a little later. */
  get temporary() {
    return this.unreachable || [429, 502, 503, 504].includes(this.status);
  }
}

export const hasKey = () => sessionStorage.getItem(KEY_ENTRY) !== null;
export function keyHeaders() {
  const key = sessionStorage.getItem(KEY_ENTRY);
  return key ? { Authorization: `Bearer ${key}` } : {};
}
export const storeKey = (/** @type {string} */ key) => sessionStorage.setItem(KEY_ENTRY, key);

const catalogs = new Map(); // by the names of models

/** Say of every item whose catalog it is from. */
const marked = (items, model) => items.map((item) => ({ ...item, catalog: catalogs.get(model) }));

/** @returns {Promise<{default: string, models: Model[], limits: {lists: number, k: number, items: number,
 *   rule_items: number}}>} */
export async function models() {
  const answer = await send("/v1/models");
  for (const { name, catalog } of answer.models) catalogs.set(name, catalog);
  return answer;
}

/** @param {{limit?: number, category?: string|null}} options `category`: find only its items
 * @returns {Promise<Item[]>} */
export async function search(text, model, signal, { limit = 8, category = null } = {}) {
  const query = new URLSearchParams({ search: text, limit: String(limit), model, ...(category && { category }) });
  return marked((await send(`/v1/items?${query}`, { signal })).items, model);
}

/** The items with these ids; ids that the model does not know are left out. @returns {Promise<Item[]>} */
export async function itemsById(ids, model) {
  const found = [];
  for (const query of queriesFor(ids)) {
    found.push(...(await send(`/v1/items?${query}&${new URLSearchParams({ model })}`)).items);
  }
  return marked(found, model);
}

/** The ids in as few queries as possible. */
function queriesFor(ids) {
  const queries = [];
  for (const id of ids.map((one) => new URLSearchParams({ id: one }).toString())) {
    const last = queries.at(-1);
    const room = last && last.length < IDS_PER_REQUEST && last.join("&").length + id.length < MAX_URL;
    if (room) last.push(id);
    else queries.push([id]);
  }
  return queries.map((query) => query.join("&"));
}

/** @returns {Promise<Continuation>} */
export async function continueList({ list, ...rules }, signal) {
  return (await continueLists({ lists: [list], ...rules }, signal))[0];
}

/** @returns {Promise<Continuation[]>} one for each of the lists */
export async function continueLists(request, signal) {
  const started = performance.now();
  const { answers, model, milliseconds } = await send("/v1/continue", {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(request), signal,
  });
  const roundTrip = roundTripSince(started, "/v1/continue");
  return answers.map((answer) => (
    { ...answer, positions: marked(answer.positions, model.name), model, milliseconds, roundTrip }));
}

/** Why a model suggests an item: the same answer with this item only. Scores do not depend on the other items.
 * @returns {Promise<Explanation|null>} null if the item would not be suggested any more */
export async function explainItem(request, item, signal) {
  const only = { diversity: 0, popularity: 0, freshness: 0, categories: null, exclude: [], allow: [item] };
  const { positions } = await continueList({ ...request, ...only, explain: true }, signal);
  return positions[0]?.explanation ?? null;
}

/** By the browser's network timing if available: the page itself may be busy rendering the other model's answer. */
function roundTripSince(started, path) {
  const entries = performance.getEntriesByName(new URL(path, location.href).href);
  const own = entries.find((entry) => entry.startTime >= started);
  return own?.responseEnd ? own.responseEnd - own.startTime : performance.now() - started;
}
performance.addEventListener("resourcetimingbufferfull", () => performance.clearResourceTimings());

async function send(path, options = {}) {
  const headers = { ...options.headers, ...keyHeaders() };
  let response;
  try {
    response = await fetch(path, { ...options, headers, cache: "no-store", credentials: "omit" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "The service does not answer.");
  }
  if (!response.ok) throw await problemOf(response);
  return response.json();
}

async function problemOf(response) {
  const body = await response.json().catch(() => ({})); // a proxy may answer with anything
  const seconds = Number(response.headers.get("Retry-After") ?? body.retry_after);
  const retryAfter = Number.isFinite(seconds) && seconds > 0 ? seconds : null;
  return new Problem(response.status, detailOf(body, response.status), retryAfter);
}

const KEY_MESSAGES = { 401: "This service needs a key.", 403: "This key does not allow this." };

/** The invalid fields if the service lists them: its own `detail` is written for programmers. */
function detailOf({ errors, detail, title }, status) {
  if (status in KEY_MESSAGES) return KEY_MESSAGES[status];
  const fields = Array.isArray(errors) ? errors.filter((one) => typeof one?.where === "string" && one.what) : [];
  if (fields.length) return formatRefusal(fields);
  return String(detail ?? title ?? `The service answered with status ${status}.`);
}
