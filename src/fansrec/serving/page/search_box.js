/** Search by name: a combobox in the pattern of the ARIA guide, its list filled by the service. */

import { search } from "./api.js";
import { createAsker } from "./asking.js";
import { details } from "./colours.js";
import { make } from "./dom.js";
import { titleOf } from "./words.js";

/** @param {{input: HTMLInputElement, options: HTMLElement, note: HTMLElement}} parts */
export function createSearchBox({ input, options, note }, { modelName, isIn, choose, keyNeeded }) {
  let found = [];
  let active = -1;

  const asker = createAsker(
    (text, signal) => search(text, modelName(), signal),
    ({ phase, answer, problem, seconds }) => {
      if (phase === "answered") show(answer);
      if (phase === "failed") fail(problem, seconds);
    },
  );

  function show(items) {
    found = items;
    options.replaceChildren(...items.map(option));
    const nothing = items.length === 0 && input.value.trim() !== "";
    tell(nothing ? `Nothing is called “${input.value.trim()}”. Fewer letters may find more.` : "");
    input.setAttribute("aria-expanded", String(items.length > 0));
    options.hidden = items.length === 0;
    activate(items.length ? 0 : -1);
  }

  function option(item, place) {
    const title = make("span", { class: "title" }, ...marked(titleOf(item), input.value.trim()));
    const rest = [item.group, isIn(item) ? "in your list" : null].filter(Boolean).join(" · ");
    const choosing = (event) => { event.preventDefault(); take(place); }; // the focus stays in the field
    return make("li", { role: "option", id: `option-${place}`, "aria-selected": "false", pointerdown: choosing },
      title, details(item.category, rest));
  }

  function activate(place) {
    active = place;
    [...options.children].forEach((child, at) => child.setAttribute("aria-selected", String(at === place)));
    if (place < 0) input.removeAttribute("aria-activedescendant");
    else input.setAttribute("aria-activedescendant", `option-${place}`);
    options.children[place]?.scrollIntoView({ block: "nearest" });
  }

  function take(place) {
    const item = found[place];
    clear();
    if (item) choose(item);
  }

  function clear() {
    input.value = "";
    asker.forget();
    show([]);
  }

  function close() {
    asker.forget();
    found = [];
    options.hidden = true;
    input.setAttribute("aria-expanded", "false");
    activate(-1);
  }

  function fail(problem, seconds) {
    show([]);
    if (problem.keyNeeded) keyNeeded();
    tell(seconds === null ? problem.message : `${problem.message} Trying again in ${Math.ceil(seconds)} s.`);
  }

  function tell(text) {
    note.textContent = text;
    note.hidden = text === "";
  }

  const ask = () => (input.value.trim() ? asker.want(input.value.trim()) : clear());
  const keys = {
    ArrowDown: () => (found.length ? activate((active + 1) % found.length) : ask()),
    ArrowUp: () => found.length && activate((active - 1 + found.length) % found.length),
    Enter: () => active >= 0 && take(active),
    Escape: () => (options.hidden ? clear() : close()),
  };
  input.addEventListener("input", ask);
  input.addEventListener("focus", () => input.value.trim() && ask());
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (!(event.key in keys) || event.isComposing) return; // Enter that ends a composed character chooses nothing
    event.preventDefault();
    keys[event.key]();
  });
}

/** The title in pieces, those that were typed as <mark>. */
function marked(title, typed) {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const lower = title.toLowerCase();
  const pieces = [];
  let at = 0;
  while (at < title.length) {
    const word = lower.length === title.length ? words.find((one) => lower.startsWith(one, at)) : null;
    const startsWord = at === 0 || !/[\p{L}\p{N}]/u.test(title[at - 1]);
    if (word && startsWord) {
      pieces.push(make("mark", {}, title.slice(at, at + word.length)));
      at += word.length;
    } else {
      if (typeof pieces.at(-1) === "string") pieces[pieces.length - 1] += title[at];
      else pieces.push(title[at]);
      at += 1;
    }
  }
  return pieces;
}
