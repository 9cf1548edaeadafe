/** What the user has made: the list, the rules and the models asked. Each change is one step that can be undone. */

/**
 * @typedef {import("./api.js").Item} Item
 * @typedef {Item & {key: number}} Entry  an item at its place in the list; the same item may stand there twice
 * @typedef {{list: Entry[], blocked: Item[], k: number, perGroup: number|null, keepSeen: boolean, only: string[],
 *   models: string[]}} State
 */

/** @type {State} */
export const START = { list: [], blocked: [], k: 10, perGroup: null, keepSeen: false, only: [], models: [] };
const STEPS_KEPT = 200;

let lastKey = 0;
const entry = ({ item, name, group, category }) => ({ key: ++lastKey, item, name, group, category });

export const sameItem = (/** @type {Item} */ one) => (/** @type {Item} */ other) => one.item === other.item;

export const added = (state, items) => ({ ...state, list: [...state.list, ...items.map(entry)] });
export const replaced = (state, items) => ({ ...state, list: items.map(entry) });
export const removed = (state, key) => ({ ...state, list: state.list.filter((one) => one.key !== key) });
export const unblocked = (state, item) => ({ ...state, blocked: state.blocked.filter((one) => !sameItem(item)(one)) });
export const blocked = (state, item) => ({ ...state, blocked: [...unblocked(state, item).blocked, item] });

/** The entry goes to the place `to` of the list without it; places outside are the ends. */
export function moved(state, key, to) {
  const moving = state.list.find((one) => one.key === key);
  const others = state.list.filter((one) => one !== moving);
  const place = Math.max(0, Math.min(others.length, to));
  return { ...state, list: [...others.slice(0, place), moving, ...others.slice(place)] };
}

/** With the category if it was not asked for, without it if it was. */
export function toggled(state, category) {
  const only = state.only.includes(category)
    ? state.only.filter((one) => one !== category)
    : [...state.only, category];
  return { ...state, only };
}

/** @param {State} initial */
export function createStore(initial) {
  let state = initial;
  const past = []; // {state, words}: what was, and what then happened to it
  const listeners = [];
  const publish = () => listeners.forEach((listener) => listener(state));
  return {
    get state() { return state; },
    get undoable() { return past.length > 0; },
    subscribe(listener) { listeners.push(listener); },

    /** Changes told in the same words one after the other, like those of a slider on its way, are one step. */
    change(next, words, together = false) {
      if (!(together && past.at(-1)?.words === words)) past.push({ state, words });
      if (past.length > STEPS_KEPT) past.shift();
      state = next;
      publish();
    },

    /** Without a step back: what the service brings, and which models are asked. */
    reset(next) {
      state = next;
      publish();
    },

    /** @returns {string|null} what has been undone */
    undo() {
      const step = past.pop();
      if (!step) return null;
      state = { ...step.state, models: state.models };
      publish();
      return step.words;
    },
  };
}
