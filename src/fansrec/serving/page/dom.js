/** Creating and updating elements. Texts become text nodes, so a name is never parsed as markup. */

const SVG = "http://www.w3.org/2000/svg";
/** Outlines in a square of 20 by 20. */
const ICONS = {
  plus: "M10 4v12M4 10h12",
  cross: "M5.5 5.5l9 9M14.5 5.5l-9 9",
  block: "M4 10a6 6 0 1 0 12 0a6 6 0 1 0-12 0M5.8 14.2l8.4-8.4",
  why: "M7.3 7.4a2.7 2.7 0 1 1 4 2.4c-.9.5-1.3 1.1-1.3 2.1M10 15h0",
  undo: "M7.5 4.5L4 8l3.5 3.5M4.5 8H12a4 4 0 0 1 0 8H8",
  redo: "M12.5 4.5L16 8l-3.5 3.5M15.5 8H8a4 4 0 0 0 0 8h4",
  paste: "M7 4.5H5.5A1.5 1.5 0 0 0 4 6v10a1.5 1.5 0 0 0 1.5 1.5h9A1.5 1.5 0 0 0 16 16V6a1.5 1.5 0 0 0-1.5-1.5H13"
    + "M7.5 3h5v3h-5zM7 10h6M7 13.5h4",
  folder: "M3 5.5A1.5 1.5 0 0 1 4.5 4H8l2 2h5.5A1.5 1.5 0 0 1 17 7.5v7a1.5 1.5 0 0 1-1.5 1.5h-11A1.5 1.5 0 0 1 3 14.5z",
  share: "M10 12V3.5M6.5 6.5L10 3l3.5 3.5M5 9.5v6A1.5 1.5 0 0 0 6.5 17h7a1.5 1.5 0 0 0 1.5-1.5v-6",
  bin: "M4 6h12M8 6V4h4v2M5.5 6l.7 10h7.6l.7-10",
  search: "M4 9a5 5 0 1 0 10 0a5 5 0 1 0-10 0M13 13l3.5 3.5",
  grip: "M7.5 5h0M12.5 5h0M7.5 10h0M12.5 10h0M7.5 15h0M12.5 15h0",
};

export const part = (/** @type {string} */ id) => document.getElementById(id);

/** @param {string} tag
 * @param {Record<string, any>} attributes functions become listeners, null and false are left out */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  const path = document.createElementNS(SVG, "path");
  svg.setAttribute("class", "icon");
  svg.setAttribute("viewBox", "0 0 20 20");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

/** Add the icons that `data-icon` names to the elements below `root`. Those without text get a tooltip. */
export function placeIcons(root) {
  for (const element of root.querySelectorAll("[data-icon]")) {
    element.prepend(icon(element.dataset.icon));
    if (element.ariaLabel) element.title = element.ariaLabel;
  }
}

export const iconButton = (name, label, listeners = {}) =>
  make("button", { type: "button", class: "icon-button", "aria-label": label, title: label, ...listeners }, icon(name));

/** Show `values` as children in their order; a child whose key stays is updated, so that focus and scrolling stay. */
export function showEach(parent, values, keyOf, create, update) {
  const before = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  const children = values.map((value, index) => {
    const key = String(keyOf(value));
    const child = before.get(key) ?? create(value);
    before.delete(key); // a repeated key gets a second child
    child.dataset.key = key;
    update(child, value, index);
    return child;
  });
  const kept = new Set(children);
  for (const child of [...parent.children]) if (!kept.has(child)) child.remove();
  children.forEach((child, index) => {
    if (parent.children[index] !== child) parent.insertBefore(child, parent.children[index] ?? null);
  });
}

/** Return a function that calls `run` once `wait` milliseconds have passed without another call. */
export function debounce(run, wait) {
  let timer;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => run(...values), wait);
  };
}
