/** A mark for each category: ten hues that colour-blind eyes tell apart, then the same in other shapes. */

import { make } from "./dom.js";
import { categoryWords } from "./words.js";

const HUES = 10;
const SHAPES = 4;
const places = new Map();

/** The order of the service is kept, so a category has the same mark at every visit. */
export function learnCategories(models) {
  for (const model of models) {
    for (const { name } of model.categories) if (!places.has(name)) places.set(name, places.size);
  }
}

/** Classes that carry the colour, `hue-0` to `hue-9`, and the shape, `shape-0` to `shape-3`. */
export function markOf(category) {
  const place = places.get(category);
  if (place === undefined) return { hue: "hue-none", shape: "shape-0" }; // of a file from another catalogue
  return { hue: `hue-${place % HUES}`, shape: `shape-${Math.floor(place / HUES) % SHAPES}` };
}

/** A small shape in the category's colour. */
export function swatch(category) {
  const { hue, shape } = markOf(category);
  return make("span", { class: `swatch ${hue} ${shape}`, "aria-hidden": "true" });
}

/** The line below a title: the mark with the category's name, as colour is never the only carrier, then the rest. */
export const details = (category, rest, ...more) =>
  make("span", { class: "sub" }, swatch(category), make("span", { class: "category" }, categoryWords(category)),
    rest ? make("span", { class: "clip" }, rest) : null, ...more);
