/** A mark for each category: ten hues that color-blind people can distinguish, then the same in other shapes. */

import { make } from "./dom.js";
import { formatCategory } from "./format.js";

const HUES = 10;
const SHAPES = 4;
const indices = new Map();

/** Number the categories in the order of the service, so that each has the same mark at every visit. */
export function registerCategories(models) {
  for (const model of models) {
    for (const { name } of model.categories) if (!indices.has(name)) indices.set(name, indices.size);
  }
}

/** The classes of the color, `hue-0` to `hue-9`, and of the shape, `shape-0` to `shape-3`. */
export function markOf(category) {
  const index = indices.get(category);
  if (index === undefined) return { hue: "hue-none", shape: "shape-0" }; // from a file of another catalog
  return { hue: `hue-${index % HUES}`, shape: `shape-${Math.floor(index / HUES) % SHAPES}` };
}

/** A small shape in the color of the category. */
export function swatch(category) {
  const { hue, shape } = markOf(category);
  return make("span", { class: `swatch ${hue} ${shape}`, "aria-hidden": "true" });
}

/** The line below a title: mark and name of the category, since color alone is not enough, then the rest. */
export const details = (category, rest, ...more) =>
  make("span", { class: "sub" }, swatch(category), make("span", { class: "category" }, formatCategory(category)),
    rest ? make("span", { class: "clip" }, rest) : null, ...more);
