/** Making and updating elements. Texts become text nodes, so no name is ever read as markup. */

const SVG = "http://www.w3.org/2000/svg";

/** @param {string} tag  @param {Record<string, any>} attributes functions are listeners, null and false are left out */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** A picture of the sheet at the end of index.html. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  const use = document.createElementNS(SVG, "use");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  use.setAttribute("href", `#icon-${name}`);
  svg.append(use);
  return svg;
}

/** Gives the elements below `root` the pictures that `data-icon` names. One without text tells its name on hovering. */
export function placeIcons(root) {
  for (const element of root.querySelectorAll("[data-icon]")) {
    element.prepend(icon(element.dataset.icon));
    if (element.ariaLabel) element.title = element.ariaLabel;
  }
}

export const iconButton = (name, label, listeners = {}) =>
  make("button", { type: "button", class: "icon-button", "aria-label": label, title: label, ...listeners }, icon(name));

/** Children for `things`, in their order; a child whose key stays is updated, so focus and scrolling stay too. */
export function showEach(parent, things, keyOf, create, update) {
  const before = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  const children = things.map((thing, place) => {
    const key = String(keyOf(thing));
    const child = before.get(key) ?? create(thing);
    before.delete(key); // the same key a second time makes a second child
    child.dataset.key = key;
    update(child, thing, place);
    return child;
  });
  const kept = new Set(children);
  for (const child of [...parent.children]) if (!kept.has(child)) child.remove();
  children.forEach((child, place) => {
    if (parent.children[place] !== child) parent.insertBefore(child, parent.children[place] ?? null);
  });
}

/** `run` is called once things have been quiet for so long. */
export function debounced(run, wait) {
  let timer;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => run(...values), wait);
  };
}
