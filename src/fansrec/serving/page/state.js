/** The state of the page: the list, the rules and the chosen models. Each change is a step to undo and to redo. */

/**
 * @typedef {import("./api.js").Item} Item
 * @typedef {Item & {key: number}} Entry  an item of the list; the same item may occur twice
 * @typedef {{list: Entry[], blocked: Item[], k: number, perGroup: number|null, keepSeen: boolean, only: string[],
 *   onlyOther: string[], models: string[], diversity: number, popularity: number, freshness: number}} State
 *   `onlyOther`: the chosen categories of a second model with a catalog of its own; the last three are in percent
 */

/** @type {State} */
export const START = { list: [], blocked: [], k: 10, perGroup: null, keepSeen: false, only: [], onlyOther: [],
  models: [], diversity: 0, popularity: 0, freshness: 0 };
const MAX_STEPS = 200;

let lastKey = 0;
const entry = ({ item, name, group, category, catalog }) => ({ key: ++lastKey, item, name, group, category, catalog });

/** An item that no model on the page knows: it stays in the list and in links, and models skip it. */
export const unknownItem = (/** @type {string} */ id) => ({ item: id, name: null, group: null, category: "" });
export const isUnknown = (/** @type {Item} */ item) => item.category === "";

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

/** The state with the category added to the chosen ones, `only` or `onlyOther`, or removed from them. */
export function toggled(state, category, choice = "only") {
  const chosen = state[choice];
  const others = chosen.filter((one) => one !== category);
  return { ...state, [choice]: others.length < chosen.length ? others : [...chosen, category] };
}

/** @param {State} initial */
export function createStore(initial) {
  let state = initial;
  const past = []; // {state, description} before each step
  let future = []; // the same after each step that was undone, the next one last
  const listeners = [];
  const publish = () => listeners.forEach((listener) => listener(state));

  /** Return to the last state of `from`, and keep the present one in `to`. The chosen models stay. */
  function exchange(from, to) {
    const step = from.pop();
    if (!step) return null;
    to.push({ state, description: step.description });
    state = { ...step.state, models: state.models };
    publish();
    return step.description;
  }

  return {
    get state() { return state; },
    get undoable() { return past.length > 0; },
    get redoable() { return future.length > 0; },
    subscribe(listener) { listeners.push(listener); },

    /** Make a change. With `merge`, successive changes of the same description, as of a slider, are one step. */
    change(next, description, merge = false) {
      if (!(merge && past.at(-1)?.description === description)) past.push({ state, description });
      if (past.length > MAX_STEPS) past.shift();
      future = [];
      state = next;
      publish();
    },

    /** Change the state without an undo step: data of the service, and the chosen models. */
    reset(next) {
      state = next;
      publish();
    },

    /** @returns {string|null} the description of the undone step */
    undo() { return exchange(past, future); },
    /** @returns {string|null} the description of the step that was made again */
    redo() { return exchange(future, past); },
  };
}
