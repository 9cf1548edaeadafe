/** The rules of a continuation: number of items, maximum per artist, categories, repeats, blocked items, re-ranking. */

import { swatch } from "./colors.js";
import { createControls, summarizeControls } from "./controls.js";
import { icon, make, showEach } from "./dom.js";
import { choiceOf, differ, knownTo } from "./catalogs.js";
import { toggled, unblocked } from "./state.js";
import { formatCategory, formatCount, groupWord, labelOf } from "./format.js";

const MAX_K = 50; // on the page; programs may request more

export function createRulesView(root, store) {
  const part = (name) => root.querySelector(`[data-part="${name}"]`);
  const change = (next, description, merge) => store.change(next, description, merge);
  let word = "group"; // what a group is in the data of the models

  part("k").addEventListener("input", (event) =>
    change({ ...store.state, k: Number(event.target.value) }, "how many", true));
  part("per-group").addEventListener("change", (event) =>
    change({ ...store.state, perGroup: Number(event.target.value) || null }, `how many per ${word}`));
  part("keep-seen").addEventListener("change", (event) =>
    change({ ...store.state, keepSeen: event.target.checked }, "repeats"));

  const controls = createControls(part, (name, value) => change({ ...store.state, [name]: value }, name, true));

  /** The chips of the categories of one catalog, and one for any of them. */
  function categoryGroup({ model: { catalog }, choice }) {
    const any = make("button", { type: "button", class: "chip", "data-any": true,
      click: () => change({ ...store.state, [choice]: [] }, "categories") }, "Any");
    const chips = make("div", { class: "chips" });
    const root = make("div", { class: "only", role: "group" }, make("span", { class: "label" }), any, chips);
    chips.addEventListener("click", (event) => {
      const name = event.target.closest("[data-key]")?.dataset.key;
      if (name !== undefined) change(toggled(store.state, name, choice), formatCategory(name));
    });
    root.create = (name) =>
      make("button", { type: "button", class: "chip" }, swatch({ category: name, catalog }), formatCategory(name));
    return root;
  }

  function updateGroup(root, { model, choice, apart }) {
    const label = apart ? `Only these categories of ${model.name}` : "Only these categories";
    const names = model.categories.map((category) => category.name);
    const chosen = knownTo(model, store.state[choice]);
    root.hidden = names.length < 2;
    root.setAttribute("aria-label", label);
    root.querySelector(".label").textContent = label;
    root.querySelector("[data-any]").setAttribute("aria-pressed", String(chosen.length === 0));
    showEach(root.querySelector(".chips"), names, (name) => name, root.create, (child, name) =>
      child.setAttribute("aria-pressed", String(chosen.includes(name))));
  }

  function blockedChip(item) {
    const undo = () => change(unblocked(store.state, item), `unblocked ${labelOf(item)}`);
    const label = `Unblock ${labelOf(item)}`;
    const button = make("button", { type: "button", class: "chip", "aria-label": label, title: label, click: undo },
      make("span", { class: "clip" }, labelOf(item)), icon("cross"));
    return make("li", {}, button);
  }

  /** A summary of the rules for the closed panel. */
  function summarize(state, only) {
    const { k, perGroup, keepSeen, blocked } = state;
    const categories = only.length > 2 ? formatCount(only.length, "category", "categories")
      : only.map(formatCategory).join(" and ");
    return [
      formatCount(k, "item"),
      perGroup ? `at most ${perGroup} per ${word}` : null,
      only.length ? `only ${categories}` : null,
      keepSeen ? "repeats allowed" : null,
      ...summarizeControls(state),
      blocked.length ? `${blocked.length} blocked` : null,
    ].filter(Boolean).join(" · ");
  }

  /** @param {import("./api.js").Model[]} models the chosen ones */
  function render(state, models, limits) {
    part("k").max = String(Math.min(MAX_K, limits.k));
    part("k").value = String(state.k);
    part("k-value").textContent = String(state.k);
    word = groupWord(models);
    part("per-group-field").hidden = word === "";
    part("per-group-word").textContent = `per ${word}`;
    part("per-group").setAttribute("aria-label", `Maximum per ${word}`);
    part("per-group").value = String(state.perGroup ?? ""); // empty for a number that the field does not offer
    part("keep-seen").checked = state.keepSeen;
    controls.render(state, models);
    const groups = models
      .map((model, index) => ({ model, choice: choiceOf(models, index), apart: differ(models) }))
      .filter(({ choice }, index, all) => all.findIndex((one) => one.choice === choice) === index);
    const keyOf = ({ model, choice }) => `${choice} ${model.catalog}`;
    showEach(part("categories"), groups, keyOf, categoryGroup, updateGroup);
    const only = groups.flatMap(({ model, choice }) => knownTo(model, state[choice]));
    part("blocked").hidden = state.blocked.length === 0;
    showEach(part("blocked-items"), state.blocked, (item) => item.item, blockedChip, () => {});
    part("summary").textContent = summarize(state, only);
  }

  root.open = matchMedia("(min-width: 60rem)").matches;
  return { render };
}
