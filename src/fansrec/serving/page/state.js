/** The state of the page: the list, the rules and the chosen models. Each change is one step that can be undone. */

/**
 * @typedef {import("./api.js").Item} Item
 * @typedef {Item & {key: number}} Entry  an item of the list; the same item may occur twice
 * @typedef {{list: Entry[], blocked: Item[], k: number, perGroup: number|null, keepSeen: boolean, only: string[],
 *   models: string[]}} State
 */

/** @type {State} */
export const START = { list: [], blocked: [], k: 10, perGroup: null, keepSeen: false, only: [], models: [] };
const MAX_STEPS = 200;

let lastKey = 0;
const entry = ({ item, name, group, category }) => ({ key: ++lastKey, item, name, group, category });

export const sameItem = (/** @type {Item} */ one) => (/** @type {Item} */ other) => one.item === other.item;

export const added = (state, items) => ({ ...state, list: [...state.list, ...items.map(entry)] });
export const replaced = (state, items) => ({ ...state, list: items.map(entry) });
export const removed = (state, key) => ({ ...state, list: state.list.filter((one) => one.key !== key) });
export const unblocked = (state, item) => ({ ...state, blocked: state.blocked.filter((one) => !sameItem(item)(one)) });
export const blocked = (state, item) => ({ ...state, blocked: [...unblocked(state, item).blocked, item] });

/** The state with an entry moved to position `to` of the list without it, limited to the ends of the list. */
export function moved(state, key, to) {
  const moving = state.list.find((one) => one.key === key);
  const others = state.list.filter((one) => one !== moving);
  const position = Math.max(0, Math.min(others.length, to));
  return { ...state, list: [...others.slice(0, position), moving, ...others.slice(position)] };
}

/** The state with the category added to the chosen ones, or removed from them. */
export function toggled(state, category) {
  const only = state.only.includes(category)
    ? state.only.filter((one) => one !== category)
    : [...state.only, category];
  return { ...state, only };
}

/** @param {State} initial */
export function createStore(initial) {
  let state = initial;
  const past = []; // {state, description} before each step
  const listeners = [];
  const publish = () => listeners.forEach((listener) => listener(state));
  return {
    get state() { return state; },
    get undoable() { return past.length > 0; },
    subscribe(listener) { listeners.push(listener); },

    /** Make a change. With `merge`, successive changes of the same description, as of a slider, are one step. */
    change(next, description, merge = false) {
      if (!(merge && past.at(-1)?.description === description)) past.push({ state, description });
      if (past.length > MAX_STEPS) past.shift();
      state = next;
      publish();
    },

    /** Change the state without an undo step: data of the service, and the chosen models. */
    reset(next) {
      state = next;
      publish();
    },

    /** @returns {string|null} the description of the undone step */
    undo() {
      const step = past.pop();
      if (!step) return null;
      state = { ...step.state, models: state.models };
      publish();
      return step.description;
    },
  };
}
