/** A mark for each category: ten hues that color-blind people can distinguish, then the same in other shapes. */

import { make } from "./dom.js";
import { formatCategory } from "./format.js";

const HUES = 10;
const SHAPES = 4;
const indices = new Map();
const catalogs = [];
const keyOf = (category, catalog) => JSON.stringify([catalog, category]);

/** Number the categories in the order of the service, so that each has the same mark at every visit. Categories of
 * different catalogs are different, also if they have the same name. */
export function registerCategories(models) {
  for (const { catalog, categories } of models) {
    if (!catalogs.includes(catalog)) catalogs.push(catalog);
    for (const { name } of categories) {
      const key = keyOf(name, catalog);
      if (!indices.has(key)) indices.set(key, indices.size);
    }
  }
}

/** The classes of the color, `hue-0` to `hue-9`, and of the shape, `shape-0` to `shape-3`. Items of a file have no
 * catalog. @param {{category: string, catalog?: string}} item */
export function markOf({ category, catalog }) {
  const from = (catalog ? [catalog] : catalogs).find((one) => indices.has(keyOf(category, one)));
  if (from === undefined) return { hue: "hue-none", shape: "shape-0" };
  const index = indices.get(keyOf(category, from));
  return { hue: `hue-${index % HUES}`, shape: `shape-${Math.floor(index / HUES) % SHAPES}` };
}

/** A small shape in the color of the category. */
export function swatch(item) {
  const { hue, shape } = markOf(item);
  return make("span", { class: `swatch ${hue} ${shape}`, "aria-hidden": "true" });
}

/** The line below a title: mark and name of the category, since color alone is not enough, then the rest. */
export const details = (item, rest, ...more) =>
  make("span", { class: "sub" }, swatch(item), make("span", { class: "category" }, formatCategory(item.category)),
    rest ? make("span", { class: "clip" }, rest) : null, ...more);
