/** The rules of a continuation: how many, at most so many of an artist, only these categories, nothing blocked. */

import { swatch } from "./colours.js";
import { icon, make, showEach } from "./dom.js";
import { toggled, unblocked } from "./state.js";
import { count, labelOf } from "./words.js";

const MOST = 50; // longer answers are for programs

export function createRulesView(root, store) {
  const part = (name) => root.querySelector(`[data-part="${name}"]`);
  const change = (next, words, together) => store.change(next, words, together);

  part("k").addEventListener("input", (event) =>
    change({ ...store.state, k: Number(event.target.value) }, "how many", true));
  part("per-group").addEventListener("change", (event) =>
    change({ ...store.state, perGroup: Number(event.target.value) || null }, "how many per artist"));
  part("keep-seen").addEventListener("change", (event) =>
    change({ ...store.state, keepSeen: event.target.checked }, "repeats"));
  part("any").addEventListener("click", () => change({ ...store.state, only: [] }, "categories"));

  function chip(category) {
    const choose = () => change(toggled(store.state, category), `category ${category}`);
    return make("button", { type: "button", class: "chip", click: choose }, swatch(category), category);
  }

  function blockedChip(item) {
    const undo = () => change(unblocked(store.state, item), `unblocked ${labelOf(item)}`);
    const label = `Unblock ${labelOf(item)}`;
    const button = make("button", { type: "button", class: "chip", "aria-label": label, title: label, click: undo },
      make("span", { class: "clip" }, labelOf(item)), icon("cross"));
    return make("li", {}, button);
  }

  /** What holds, in a few words, for when the rules are folded away. */
  function digest({ k, perGroup, only, keepSeen, blocked }) {
    const categories = only.length > 2 ? count(only.length, "category", "categories") : only.join(" and ");
    return [
      count(k, "item"),
      perGroup ? `at most ${perGroup} per artist` : null,
      only.length ? `only ${categories}` : null,
      keepSeen ? "repeats allowed" : null,
      blocked.length ? `${blocked.length} blocked` : null,
    ].filter(Boolean).join(" · ");
  }

  /** @param {import("./api.js").Model[]} models those asked */
  function render(state, models, limits) {
    part("k").max = String(Math.min(MOST, limits.k));
    part("k").value = String(state.k);
    part("k-value").textContent = String(state.k);
    part("per-group-field").hidden = !models.some((model) => model.groups);
    part("per-group").value = String(state.perGroup ?? "");
    part("keep-seen").checked = state.keepSeen;
    const categories = [...new Set(models.flatMap((model) => model.categories.map((category) => category.name)))];
    part("categories").hidden = categories.length < 2;
    part("any").setAttribute("aria-pressed", String(state.only.length === 0));
    showEach(part("chips"), categories, (category) => category, chip, (child, category) =>
      child.setAttribute("aria-pressed", String(state.only.includes(category))));
    part("blocked").hidden = state.blocked.length === 0;
    showEach(part("blocked-items"), state.blocked, (item) => item.item, blockedChip, () => {});
    part("digest").textContent = digest(state);
  }

  root.open = matchMedia("(min-width: 60rem)").matches;
  return { render };
}
