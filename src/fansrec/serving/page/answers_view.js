/** What a model continues the list with: one column a model, position by position. */

import { details, markOf } from "./colours.js";
import { iconButton, make, showEach } from "./dom.js";
import { createRoving } from "./roving.js";
import { count, labelOf, listed, milliseconds, scoreWords, shortHash, titleOf, wayOf } from "./words.js";

const SKELETONS = 50; // more are below the edge of any screen
const LEAST_BAR = 6; // per cent: the lowest score is seen too

/** @param {HTMLElement} root a <section> made from the template of index.html */
export function createColumn(root, { add, addAll, block, again }) {
  const part = (name) => root.querySelector(`[data-part="${name}"]`);
  const rows = part("positions");
  const roving = createRoving(rows, ".accept");
  let positions = [];

  /** Each position's share of the span from the lowest to the highest score of this answer. */
  function bars() {
    const scores = positions.map((position) => position.score);
    const low = Math.min(...scores);
    const span = Math.max(...scores) - low;
    return (score) => (span > 0 ? LEAST_BAR + ((100 - LEAST_BAR) * (score - low)) / span : 100);
  }

  function row(position) {
    const name = labelOf(position);
    const { hue } = markOf(position.category);
    const score = make("span", { class: "score", title: "The bar goes from the lowest to the highest score here" });
    const accept = iconButton("plus", `Add ${name}`, { click: () => accept.ariaDisabled !== "true" && add(position) });
    accept.classList.add("accept");
    const out = iconButton("block", `Block ${name}`, { click: () => block(position) });
    return make("li", { class: hue },
      make("span", { class: "place" },
        make("span", { class: "number" }), make("span", { class: "both", hidden: true })),
      make("span", { class: "text" },
        make("span", { class: "title" }, titleOf(position)),
        details(position.category, position.group, score),
        make("span", { class: "bar", "aria-hidden": "true" }, make("span", {}))),
      make("span", { class: "buttons" }, accept, out));
  }

  function render({ first, beside, taken }) {
    const width = bars();
    roving.keepFocus(() => showEach(rows, positions, (one) => one.item, row, (child, position, place) => {
      child.querySelector(".number").textContent = String(first + place);
      child.querySelector(".score").textContent = scoreWords(position.score);
      child.querySelector(".bar > span").style.setProperty("width", `${width(position.score)}%`);
      child.querySelector(".accept").setAttribute("aria-disabled", String(taken(position)));
      child.classList.toggle("taken", taken(position));
      markBoth(child.querySelector(".both"), beside(position));
    }));
    part("all").hidden = positions.length === 0;
    part("all-words").textContent = `Add all ${positions.length}`;
  }

  function markBoth(badge, other) {
    badge.hidden = other === null;
    if (other === null) return;
    badge.textContent = "both";
    badge.title = `${other.title} gives it too, at position ${other.position}`;
    badge.setAttribute("aria-label", badge.title);
    badge.setAttribute("role", "img");
  }

  function describe(model, answer) {
    root.setAttribute("aria-label", `Continuation by ${model.title}`);
    part("way").textContent = [model.recipe === "best" ? "recipe best" : null, wayOf(model.generation)]
      .filter(Boolean).join(", ");
    part("hash").textContent = shortHash(answer?.model.hash ?? model.hash);
    part("hash").title = `SHA-256 of the model: ${answer?.model.hash ?? model.hash}`;
    part("latency").hidden = !answer;
    if (!answer) return;
    part("service-time").textContent = milliseconds(answer.milliseconds);
    part("round-trip").textContent = milliseconds(answer.roundTrip);
  }

  function tell(text, retry = false) {
    part("message").hidden = text === "";
    part("message-text").textContent = text;
    part("again").hidden = !retry;
  }

  part("again").addEventListener("click", again);
  part("all").addEventListener("click", () => addAll(positions));
  rows.addEventListener("keydown", (event) => {
    const place = [...rows.children].indexOf(event.target.closest("li"));
    if (place < 0) return;
    if (["Delete", "Backspace"].includes(event.key)) block(positions[place]);
    else if (event.key === "Enter" && event.shiftKey) addAll(positions);
    else return;
    event.preventDefault();
  });

  return {
    root,
    render,
    describe,
    waiting(on) {
      root.classList.toggle("waiting", on);
      root.setAttribute("aria-busy", String(on));
    },
    answered(answer) {
      positions = answer.positions;
      const skipped = answer.unknown.length ? `Unknown to this model and skipped: ${listed(answer.unknown)}.` : "";
      const few = answer.reason ? `${answer.reason[0].toUpperCase()}${answer.reason.slice(1)}.` : "";
      tell([few, skipped].filter(Boolean).join(" "));
    },
    failed(problem, seconds) {
      if (!problem.passing) {
        positions = [];
        rows.replaceChildren();
        part("all").hidden = true;
      }
      tell(seconds === null ? problem.message : `${problem.message} Trying again in ${Math.ceil(seconds)} s.`, true);
    },
    summary: () => `${count(positions.length, "item")}: ${positions.slice(0, 3).map(titleOf).join(", ")}`,
    get positions() { return positions; },
  };
}

/** Lines that stand for the rows of the first answer. */
export const skeleton = (k) =>
  Array.from({ length: Math.min(k, SKELETONS) }, () => make("li", { class: "skeleton" }));
