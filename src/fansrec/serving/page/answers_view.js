/** The continuation by one model: a column with one row for each position. */

import { details, markOf } from "./colors.js";
import { iconButton, make, showEach } from "./dom.js";
import { createRoving } from "./roving.js";
import {
  formatCount, formatFailure, formatMilliseconds, formatMode, formatNames, formatScore, labelOf, shortHash, titleOf,
} from "./format.js";
import { explainShare, shareOf } from "./scores.js";

const MAX_SKELETONS = 50; // no screen shows more

/** @param {HTMLElement} root a <section> made from the template of index.html */
export function createColumn(root, { add, addAll, block, why, retry }) {
  const part = (name) => root.querySelector(`[data-part="${name}"]`);
  const rows = part("positions");
  const roving = createRoving(rows, ".accept");
  let positions = [];

  function row(position) {
    const name = labelOf(position);
    const { hue } = markOf(position);
    const score = make("span", { class: "score" });
    const accept = iconButton("plus", `Add ${name}`, { click: () => accept.ariaDisabled !== "true" && add(position) });
    accept.classList.add("accept");
    const blockButton = iconButton("block", `Block ${name}`, { click: () => block(position) });
    const whyButton = iconButton("why", `Why ${name}?`, { click: () => why(position) });
    whyButton.classList.add("why");
    return make("li", { class: hue },
      make("span", { class: "position" },
        make("span", { class: "number" }), make("span", { class: "both", hidden: true })),
      make("span", { class: "text" },
        make("span", { class: "title" }, titleOf(position)),
        details(position, position.group, score),
        make("span", { class: "bar", "aria-hidden": "true" }, make("span", {}))),
      make("span", { class: "buttons" }, accept, whyButton, blockButton));
  }

  function render({ first, inOther, taken, scale, explains }) {
    const best = Math.max(...positions.map((position) => position.score));
    roving.keepFocus(() => showEach(rows, positions, (one) => one.item, row, (child, position, index) => {
      child.querySelector(".number").textContent = String(first + index);
      child.querySelector(".score").textContent = formatScore(position.score);
      const share = shareOf(position.score, best, scale);
      child.querySelector(".bar > span").style.setProperty("width", `${(100 * share).toFixed(2)}%`);
      for (const one of child.querySelectorAll(".score, .bar")) one.title = explainShare(position.score, best, scale);
      child.querySelector(".accept").setAttribute("aria-disabled", String(taken(position)));
      child.querySelector(".why").hidden = !explains;
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
    badge.title = `${other.name} has it too, at position ${other.position}`;
    badge.setAttribute("aria-label", badge.title);
    badge.setAttribute("role", "img");
  }

  function describe(model, answer) {
    root.setAttribute("aria-label", `Continuation by ${model.name}`);
    const recipe = model.recipe === "best" ? "recipe best" : null;
    part("mode").textContent = [model.title, recipe, formatMode(model.generation)]
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
    /** @param {(id: string|number) => string} labelOfId of an item in the user's list */
    showAnswer(answer, labelOfId) {
      positions = answer.positions;
      const names = formatNames(answer.unknown.map(labelOfId));
      const some = answer.unknown.length > 0 && !answer.fallback; // else it is all of them, as the reason says
      const skipped = some ? `Unknown to this model and skipped: ${names}.` : "";
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
