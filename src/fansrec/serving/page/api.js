/** The service as the page sees it: four questions, and every failure as a Problem that says what to do. */

/**
 * @typedef {{item: string|number, name: string|null, group: string|null, category: string}} Item
 * @typedef {Item & {score: number}} Position
 * @typedef {{name: string, hash: string, title: string, recipe: string|null, generation: string, items: number,
 *   names: boolean, groups: boolean, categories: {name: string, items: number}[]}} Model
 * @typedef {{positions: Position[], unknown: (string|number)[], reason: string|null,
 *   model: {name: string, hash: string}, milliseconds: number, roundTrip: number}} Continuation
 */

import { refusalWords } from "./words.js";

const KEY_PLACE = "fans-api-key"; // of the session only: a closed tab forgets it
const IDS_A_REQUEST = 100;
const LONGEST_ADDRESS = 8000; // characters, as any proxy lets pass

export class Problem extends Error {
  /** @param {number} status 0 when no answer came at all  @param {number|null} retryAfter seconds */
  constructor(status, detail, retryAfter = null) {
    super(detail);
    this.status = status;
    this.retryAfter = retryAfter;
  }

  get unreachable() {
    return this.status === 0;
  }

  get keyNeeded() {
    return this.status === 401 || this.status === 403;
  }

  /** Whether the same question may be answered a little later. */
  get passing() {
    return this.unreachable || [429, 502, 503, 504].includes(this.status);
  }
}

export const hasKey = () => sessionStorage.getItem(KEY_PLACE) !== null;
export const keepKey = (/** @type {string} */ key) => sessionStorage.setItem(KEY_PLACE, key);

/** Titles are made distinct: one model may be served twice, in one pass and one by one.
 * @returns {Promise<{default: string, models: Model[], limits: {k: number, items: number, rule_items: number}}>} */
export async function models() {
  const told = await ask("/v1/models");
  const shared = ({ title }) => told.models.filter((other) => other.title === title).length > 1;
  const titleOf = (model) => (shared(model) ? `${model.title} (${model.name})` : model.title);
  return { ...told, models: told.models.map((model) => ({ ...model, title: titleOf(model) })) };
}

/** @returns {Promise<Item[]>} */
export async function search(text, model, signal, limit = 8) {
  const query = new URLSearchParams({ search: text, limit: String(limit), model });
  return (await ask(`/v1/items?${query}`, { signal })).items;
}

/** The items of these ids; those that the model does not know are left out. @returns {Promise<Item[]>} */
export async function itemsById(ids, model) {
  const found = [];
  for (const query of queriesFor(ids)) {
    found.push(...(await ask(`/v1/items?${query}&${new URLSearchParams({ model })}`)).items);
  }
  return found;
}

/** As few queries as hold the ids. */
function queriesFor(ids) {
  const queries = [];
  for (const id of ids.map((one) => new URLSearchParams({ id: one }).toString())) {
    const last = queries.at(-1);
    const room = last && last.length < IDS_A_REQUEST && last.join("&").length + id.length < LONGEST_ADDRESS;
    if (room) last.push(id);
    else queries.push([id]);
  }
  return queries.map((query) => query.join("&"));
}

/** @returns {Promise<Continuation>} */
export async function continueList(question, signal) {
  const started = performance.now();
  const { list, ...rules } = question;
  const body = JSON.stringify({ lists: [list], ...rules });
  const answer = await ask("/v1/continue", {
    method: "POST", headers: { "Content-Type": "application/json" }, body, signal,
  });
  const roundTrip = roundTripSince(started, "/v1/continue");
  return { ...answer.answers[0], model: answer.model, milliseconds: answer.milliseconds, roundTrip };
}

/** By the network's own clock where it tells: the page itself may be busy drawing the other model's answer. */
function roundTripSince(started, path) {
  const requests = performance.getEntriesByName(new URL(path, location.href).href);
  const own = requests.find((request) => request.startTime >= started);
  return own?.responseEnd ? own.responseEnd - own.startTime : performance.now() - started;
}
performance.addEventListener("resourcetimingbufferfull", () => performance.clearResourceTimings());

async function ask(path, options = {}) {
  const key = sessionStorage.getItem(KEY_PLACE);
  const headers = { ...options.headers, ...(key && { Authorization: `Bearer ${key}` }) };
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
  const told = await response.json().catch(() => ({})); // a proxy between may answer with anything
  const seconds = Number(response.headers.get("Retry-After") ?? told.retry_after);
  const retryAfter = Number.isFinite(seconds) && seconds > 0 ? seconds : null;
  return new Problem(response.status, detailOf(told, response.status), retryAfter);
}

/** Field by field where the service names them: its own `detail` then sends programmers to the description. */
function detailOf({ errors, detail, title }, status) {
  const named = Array.isArray(errors) ? errors.filter((one) => typeof one?.where === "string" && one.what) : [];
  if (named.length) return refusalWords(named);
  return String(detail ?? title ?? `The service answered with status ${status}.`);
}
