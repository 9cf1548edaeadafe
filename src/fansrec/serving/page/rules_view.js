/** The rules of a continuation: number of items, maximum per artist, categories, repeats and blocked items. */

import { swatch } from "./colors.js";
import { icon, make, showEach } from "./dom.js";
import { toggled, unblocked } from "./state.js";
import { formatCount, labelOf } from "./format.js";

const MAX_K = 50; // on the page; programs may request more

export function createRulesView(root, store) {
  const part = (name) => root.querySelector(`[data-part="${name}"]`);
  const change = (next, description, merge) => store.change(next, description, merge);

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

  /** A summary of the rules for the closed panel. */
  function summarize({ k, perGroup, only, keepSeen, blocked }) {
    const categories = only.length > 2 ? formatCount(only.length, "category", "categories") : only.join(" and ");
    return [
      formatCount(k, "item"),
      perGroup ? `at most ${perGroup} per artist` : null,
      only.length ? `only ${categories}` : null,
      keepSeen ? "repeats allowed" : null,
      blocked.length ? `${blocked.length} blocked` : null,
    ].filter(Boolean).join(" · ");
  }

  /** @param {import("./api.js").Model[]} models the chosen ones */
  function render(state, models, limits) {
    part("k").max = String(Math.min(MAX_K, limits.k));
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
    part("summary").textContent = summarize(state);
  }

  root.open = matchMedia("(min-width: 60rem)").matches;
  return { render };
}
