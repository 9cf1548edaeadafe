/** The continuation by one model: a column with one row for each position. */

import { details, markOf } from "./colors.js";
import { iconButton, make, showEach } from "./dom.js";
import { createRoving } from "./roving.js";
import {
  formatCount, formatFailure, formatMilliseconds, formatMode, formatNames, formatScore, labelOf, shortHash, titleOf,
} from "./format.js";

const MAX_SKELETONS = 50; // no screen shows more
const MIN_BAR = 6; // percent, so that the lowest score is visible

/** @param {HTMLElement} root a <section> made from the template of index.html */
export function createColumn(root, { add, addAll, block, retry }) {
  const part = (name) => root.querySelector(`[data-part="${name}"]`);
  const rows = part("positions");
  const roving = createRoving(rows, ".accept");
  let positions = [];

  /** Return the function from a score to the width of its bar: from the lowest to the highest score of this answer. */
  function barScale() {
    const scores = positions.map((position) => position.score);
    const low = Math.min(...scores);
    const span = Math.max(...scores) - low;
    return (score) => (span > 0 ? MIN_BAR + ((100 - MIN_BAR) * (score - low)) / span : 100);
  }

  function row(position) {
    const name = labelOf(position);
    const { hue } = markOf(position.category);
    const score = make("span", { class: "score", title: "The bar goes from the lowest to the highest score here" });
    const accept = iconButton("plus", `Add ${name}`, { click: () => accept.ariaDisabled !== "true" && add(position) });
    accept.classList.add("accept");
    const blockButton = iconButton("block", `Block ${name}`, { click: () => block(position) });
    return make("li", { class: hue },
      make("span", { class: "position" },
        make("span", { class: "number" }), make("span", { class: "both", hidden: true })),
      make("span", { class: "text" },
        make("span", { class: "title" }, titleOf(position)),
        details(position.category, position.group, score),
        make("span", { class: "bar", "aria-hidden": "true" }, make("span", {}))),
      make("span", { class: "buttons" }, accept, blockButton));
  }

  function render({ first, inOther, taken }) {
    const width = barScale();
    roving.keepFocus(() => showEach(rows, positions, (one) => one.item, row, (child, position, index) => {
      child.querySelector(".number").textContent = String(first + index);
      child.querySelector(".score").textContent = formatScore(position.score);
      child.querySelector(".bar > span").style.setProperty("width", `${width(position.score)}%`);
      child.querySelector(".accept").setAttribute("aria-disabled", String(taken(position)));
      child.classList.toggle("taken", taken(position));
      markBoth(child.querySelector(".both"), inOther(position));
    }));
    part("all").hidden = positions.length === 0;
    part("all-label").textContent = `Add all ${positions.length}`;
  }

  function markBoth(badge, other) {
    badge.hidden = other === null;
    if (other === null) return;
    badge.textContent = "both";
    badge.title = `${other.title} has it too, at position ${other.position}`;
    badge.setAttribute("aria-label", badge.title);
    badge.setAttribute("role", "img");
  }

  function describe(model, answer) {
    root.setAttribute("aria-label", `Continuation by ${model.title}`);
    part("mode").textContent = [model.recipe === "best" ? "recipe best" : null, formatMode(model.generation)]
      .filter(Boolean).join(", ");
    part("hash").textContent = shortHash(answer?.model.hash ?? model.hash);
    part("hash").title = `SHA-256 of the model: ${answer?.model.hash ?? model.hash}`;
    part("latency").hidden = !answer;
    if (!answer) return;
    part("service-time").textContent = formatMilliseconds(answer.milliseconds);
    part("round-trip").textContent = formatMilliseconds(answer.roundTrip);
  }

  function showMessage(text, canRetry = false) {
    part("message").hidden = text === "";
    part("message-text").textContent = text;
    part("retry").hidden = !canRetry;
  }

  part("retry").addEventListener("click", retry);
  part("all").addEventListener("click", () => addAll(positions));
  rows.addEventListener("keydown", (event) => {
    const index = [...rows.children].indexOf(event.target.closest("li"));
    if (index < 0) return;
    if (["Delete", "Backspace"].includes(event.key)) block(positions[index]);
    else if (event.key === "Enter" && event.shiftKey) addAll(positions);
    else return;
    event.preventDefault();
  });

  return {
    root,
    render,
    describe,
    showWaiting(waiting) {
      root.classList.toggle("waiting", waiting);
      root.setAttribute("aria-busy", String(waiting));
    },
    showAnswer(answer) {
      positions = answer.positions;
      const skipped = answer.unknown.length ? `Unknown to this model and skipped: ${formatNames(answer.unknown)}.` : "";
      const reason = answer.reason ? `${answer.reason[0].toUpperCase()}${answer.reason.slice(1)}.` : "";
      showMessage([reason, skipped].filter(Boolean).join(" "));
    },
    showFailure(problem, seconds) {
      if (!problem.temporary) {
        positions = [];
        rows.replaceChildren();
        part("all").hidden = true;
      }
      showMessage(formatFailure(problem, seconds), true);
    },
    summary: () => `${formatCount(positions.length, "item")}: ${positions.slice(0, 3).map(titleOf).join(", ")}`,
    get positions() { return positions; },
  };
}

/** Placeholders for the rows of the first answer. */
export const skeleton = (k) =>
  Array.from({ length: Math.min(k, MAX_SKELETONS) }, () => make("li", { class: "skeleton" }));
