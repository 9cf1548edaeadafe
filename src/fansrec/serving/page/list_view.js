/** The user's list: rows are moved by dragging or by Alt and arrow keys, and removed by button or Delete. */

import { details } from "./colors.js";
import { icon, iconButton, make, showEach } from "./dom.js";
import { enableDragging } from "./drag.js";
import { createRoving } from "./roving.js";
import { labelOf, titleOf } from "./format.js";
import { isUnknown } from "./state.js";

/** @param {HTMLElement} container an <ol>  @param {{move: (key, to) => void, remove: (key) => void}} actions */
export function createListView(container, { move, remove }) {
  const roving = createRoving(container, "[data-handle]");
  let keys = [];
  const keyOf = (row) => Number(row.dataset.key);

  function row(entry) {
    const handle = make("button", { type: "button", class: "handle", "data-handle": true,
      "aria-describedby": "list-keys" }, icon("grip"));
    const text = make("span", { class: "text" },
      make("span", { class: "title" }, titleOf(entry)), details(entry, entry.group));
    const removeButton = iconButton("cross", `Remove ${labelOf(entry)}`, { click: () => remove(entry.key) });
    return make("li", { class: isUnknown(entry) ? "unknown" : null },
      handle, make("span", { class: "number" }), text, removeButton);
  }

  function update(child, entry, index) {
    child.querySelector(".number").textContent = String(index + 1);
    child.querySelector(".handle").setAttribute("aria-label", `Move ${labelOf(entry)}, ${index + 1} of ${keys.length}`);
  }

  function render(list) {
    const grown = list.length > keys.length && keys.length > 0;
    keys = list.map((entry) => entry.key);
    roving.keepFocus(() => showEach(container, list, (entry) => entry.key, row, update));
    if (grown) container.scrollTop = container.scrollHeight; // show the new item at the end
  }

  container.addEventListener("keydown", (event) => {
    const row = event.target.closest("li");
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (row && event.altKey && step) {
      event.preventDefault();
      const to = keys.indexOf(keyOf(row)) + step;
      if (to >= 0 && to < keys.length) {
        move(keyOf(row), to);
        roving.focus(to);
      }
    } else if (row && ["Delete", "Backspace"].includes(event.key)) {
      event.preventDefault();
      remove(keyOf(row));
    }
  });
  enableDragging(container, (row, to) => move(keyOf(row), to));
  return { render };
}
