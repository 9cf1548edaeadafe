/** Search by name or by category: a combobox as in the ARIA Authoring Practices, with options from the service. */

import { continueList, search } from "./api.js";
import { createRequester } from "./requester.js";
import { details, swatch } from "./colors.js";
import { icon, make } from "./dom.js";
import { formatCategory, formatCount, formatFailure, titleOf } from "./format.js";
import { looksLikeList } from "./paste_dialog.js";

const MAX_CATEGORIES = 3; // of the options
const IN_CATEGORY = 8; // items of a category that are offered before anything is typed

/** @param {{input: HTMLInputElement, options: HTMLElement, note: HTMLElement, scope: HTMLElement}} parts
 * @param {{model: () => import("./api.js").Model|undefined}} actions `list` returns the user's list, `paste` opens the
 *   dialog for several names at once */
export function createSearchBox({ input, options, note, scope }, { model, list, isIn, choose, paste, needsKey }) {
  let found = []; // items and categories, in the order of the options
  let active = -1;
  let category = null; // the one that is searched, or null for all

  const requester = createRequester(
    ({ text, inside }, signal) =>
      (text ? search(text, model().name, signal, { category: inside }) : bestOf(inside, signal)),
    ({ phase, answer, problem, seconds }) => {
      if (phase === "answered") show([...answer, ...(category === null ? matchingCategories() : [])]);
      if (phase === "failed") fail(problem, seconds);
    },
  );

  /** The items of a category that the model would continue the list with. */
  async function bestOf(inside, signal) {
    const given = list().map((entry) => entry.item);
    const rules = { model: model().name, k: IN_CATEGORY, categories: [inside], fallback: "popular" };
    return (await continueList({ list: given, ...rules }, signal)).positions;
  }

  /** The categories in whose names a word begins as typed. */
  function matchingCategories() {
    const typed = input.value.trim().toLowerCase();
    const begins = (name) => ` ${formatCategory(name).toLowerCase()}`.includes(` ${typed}`);
    const { categories, catalog } = model();
    if (!typed || categories.length < 2) return [];
    return categories.filter(({ name }) => begins(name)).slice(0, MAX_CATEGORIES)
      .map(({ name, items }) => ({ category: name, catalog, items }));
  }

  function show(results) {
    found = results;
    options.replaceChildren(...results.map(option));
    const nothing = results.length === 0 && input.value.trim() !== "";
    showNote(nothing ? `Nothing is called “${input.value.trim()}”. Fewer letters may find more.` : "");
    input.setAttribute("aria-expanded", String(results.length > 0));
    options.hidden = results.length === 0;
    activate(results.length ? 0 : -1);
  }

  function option(result, index) {
    const choosing = (event) => { event.preventDefault(); take(index); }; // the focus stays in the field
    return make("li", { role: "option", id: `option-${index}`, "aria-selected": "false", pointerdown: choosing },
      ...(result.items === undefined ? itemTexts(result) : categoryTexts(result)));
  }

  function itemTexts(item) {
    const rest = [item.group, isIn(item) ? "in your list" : null].filter(Boolean).join(" · ");
    return [make("span", { class: "title" }, ...marked(titleOf(item), input.value.trim())), details(item, rest)];
  }

  const categoryTexts = (one) => [
    make("span", { class: "title" }, swatch(one), " ", ...marked(formatCategory(one.category), input.value.trim())),
    make("span", { class: "sub" }, `a category of ${formatCount(one.items, "item")}: search in it`)];

  function activate(index) {
    active = index;
    [...options.children].forEach((child, at) => child.setAttribute("aria-selected", String(at === index)));
    if (index < 0) input.removeAttribute("aria-activedescendant");
    else input.setAttribute("aria-activedescendant", `option-${index}`);
    options.children[index]?.scrollIntoView({ block: "nearest" });
  }

  function take(index) {
    const result = found[index];
    clear();
    if (result?.items !== undefined) enter(result);
    else if (result) choose(result);
  }

  /** Search in one category, or in all if it is null. */
  function enter(one) {
    category = one?.category ?? null;
    const label = one && `Search in ${formatCategory(one.category)}. Remove this filter`;
    const chip = () => make("button", { type: "button", class: "chip", "aria-label": label, click: leave },
      swatch(one), make("span", { class: "clip" }, formatCategory(one.category)), icon("cross"));
    scope.replaceChildren(...(one ? [chip()] : []));
    update();
  }

  function leave() {
    enter(null);
    input.focus();
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

  function update() {
    const text = input.value.trim();
    const searchable = model() && (text || category !== null);
    if (searchable) requester.request({ text, inside: category });
    else clear();
  }

  const keys = {
    ArrowDown: () => (found.length ? activate((active + 1) % found.length) : update()),
    ArrowUp: () => found.length && activate((active - 1 + found.length) % found.length),
    Enter: () => active >= 0 && take(active),
    Escape: () => (!options.hidden ? close() : input.value === "" && category !== null ? leave() : clear()),
  };
  input.addEventListener("input", update);
  input.addEventListener("focus", () => (input.value.trim() || category !== null) && update());
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Backspace" && input.value === "" && category !== null) leave();
    if (!(event.key in keys) || event.isComposing) return; // Enter that ends a composition must not choose an option
    event.preventDefault();
    keys[event.key]();
  });
  input.addEventListener("paste", (event) => {
    const text = event.clipboardData.getData("text");
    if (!looksLikeList(text) || !model()) return;
    event.preventDefault();
    paste(text);
  });
}

/** The title in pieces, with the typed ones at the beginning of words as <mark>. */
function marked(title, typed) {
  const words = typed.split(/\s+/).map((word) => word.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).filter(Boolean);
  if (!words.length) return [title];
  const pieces = title.split(new RegExp(`(?<![\\p{L}\\p{N}])(${words.join("|")})`, "giu"));
  return pieces.map((piece, index) => (index % 2 ? make("mark", {}, piece) : piece));
}
