/** Search by name: a combobox as in the ARIA Authoring Practices, with options from the service. */

import { search } from "./api.js";
import { createRequester } from "./requester.js";
import { details } from "./colors.js";
import { make } from "./dom.js";
import { formatFailure, titleOf } from "./format.js";

/** @param {{input: HTMLInputElement, options: HTMLElement, note: HTMLElement}} parts */
export function createSearchBox({ input, options, note }, { modelName, isIn, choose, needsKey }) {
  let found = [];
  let active = -1;

  const requester = createRequester(
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
    showNote(nothing ? `Nothing is called “${input.value.trim()}”. Fewer letters may find more.` : "");
    input.setAttribute("aria-expanded", String(items.length > 0));
    options.hidden = items.length === 0;
    activate(items.length ? 0 : -1);
  }

  function option(item, index) {
    const title = make("span", { class: "title" }, ...marked(titleOf(item), input.value.trim()));
    const rest = [item.group, isIn(item) ? "in your list" : null].filter(Boolean).join(" · ");
    const choosing = (event) => { event.preventDefault(); take(index); }; // the focus stays in the field
    return make("li", { role: "option", id: `option-${index}`, "aria-selected": "false", pointerdown: choosing },
      title, details(item.category, rest));
  }

  function activate(index) {
    active = index;
    [...options.children].forEach((child, at) => child.setAttribute("aria-selected", String(at === index)));
    if (index < 0) input.removeAttribute("aria-activedescendant");
    else input.setAttribute("aria-activedescendant", `option-${index}`);
    options.children[index]?.scrollIntoView({ block: "nearest" });
  }

  function take(index) {
    const item = found[index];
    clear();
    if (item) choose(item);
  }

  function clear() {
    input.value = "";
    requester.cancel();
    show([]);
  }

  function close() {
    requester.cancel();
    found = [];
    options.hidden = true;
    input.setAttribute("aria-expanded", "false");
    activate(-1);
  }

  function fail(problem, seconds) {
    show([]);
    if (problem.needsKey) needsKey();
    showNote(formatFailure(problem, seconds));
  }

  function showNote(text) {
    note.textContent = text;
    note.hidden = text === "";
  }

  const update = () => (input.value.trim() ? requester.request(input.value.trim()) : clear());
  const keys = {
    ArrowDown: () => (found.length ? activate((active + 1) % found.length) : update()),
    ArrowUp: () => found.length && activate((active - 1 + found.length) % found.length),
    Enter: () => active >= 0 && take(active),
    Escape: () => (options.hidden ? clear() : close()),
  };
  input.addEventListener("input", update);
  input.addEventListener("focus", () => input.value.trim() && update());
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (!(event.key in keys) || event.isComposing) return; // Enter that ends a composition must not choose an option
    event.preventDefault();
    keys[event.key]();
  });
}

/** The title in pieces, with the typed ones at the beginning of words as <mark>. */
function marked(title, typed) {
  const words = typed.split(/\s+/).map((word) => word.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).filter(Boolean);
  if (!words.length) return [title];
  const pieces = title.split(new RegExp(`(?<![\\p{L}\\p{N}])(${words.join("|")})`, "giu"));
  return pieces.map((piece, index) => (index % 2 ? make("mark", {}, piece) : piece));
}
