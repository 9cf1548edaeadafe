/** Two models on a narrow screen: one column at a time, chosen by tabs. On wide screens CSS shows both. */

import { make } from "./dom.js";

const STEPS = { ArrowLeft: -1, ArrowRight: 1 };
const NARROW = matchMedia("not (min-width: 48rem)"); // where rows.css shows one column

/** @param {HTMLElement} container of the columns, whose ids are column-0 and column-1 */
export function createTabs(container) {
  const list = make("div", { role: "tablist", "aria-label": "Models", class: "tabs" });
  container.before(list);
  let names = [];
  let current = 0;

  function choose(index, focus = false) {
    current = index;
    update();
    if (focus) list.children[current].focus();
  }

  function tab(name, index) {
    return make("button", { type: "button", role: "tab", "aria-controls": `column-${index}`,
      click: () => choose(index) }, name);
  }

  function update() {
    const tabbed = names.length > 1 && NARROW.matches;
    list.hidden = !tabbed;
    [...list.children].forEach((child, index) => {
      child.setAttribute("aria-selected", String(index === current));
      child.tabIndex = index === current ? 0 : -1;
    });
    [...container.children].forEach((column, index) => {
      column.hidden = tabbed && index !== current;
      if (tabbed) column.setAttribute("role", "tabpanel");
      else column.removeAttribute("role");
    });
  }

  list.addEventListener("keydown", (event) => {
    if (!(event.key in STEPS)) return;
    event.preventDefault();
    choose((current + STEPS[event.key] + names.length) % names.length, true);
  });
  NARROW.addEventListener("change", update);

  /** @param {string[]} next the names of the models on the page */
  function render(next) {
    if (next.join("\n") !== names.join("\n")) list.replaceChildren(...next.map(tab));
    names = next;
    current = Math.min(current, names.length - 1);
    update();
  }

  return { render };
}
