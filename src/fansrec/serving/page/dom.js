/** Creating and updating elements. Texts become text nodes, so a name is never parsed as markup. */

const SVG = "http://www.w3.org/2000/svg";

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

/** An icon from the SVG symbols at the end of index.html. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  const use = document.createElementNS(SVG, "use");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  use.setAttribute("href", `#icon-${name}`);
  svg.append(use);
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
