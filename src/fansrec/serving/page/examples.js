/** Example lists for an empty page, made from the model's own catalog: what it would begin a list with, one item of
 * each of several categories, and how it continues each of these. */

import { continueList, continueLists } from "./api.js";
import { make, part } from "./dom.js";
import { titleOf } from "./format.js";
import { sameItem } from "./state.js";

const EXAMPLES = 3;
const LENGTH = 3; // items of an example
const STARTS = 50; // likely first items among which different categories are looked for

/** The first item of each category, then the other ones. */
function differentOnes(items) {
  const isFirst = (item, index) => items.findIndex((one) => one.category === item.category) === index;
  return [...items.filter(isFirst), ...items.filter((item, index) => !isFirst(item, index))];
}

/** @returns {Promise<import("./api.js").Item[][]>} */
async function exampleLists(model, limits) {
  const { positions } = await continueList({ list: [], model: model.name, k: Math.min(STARTS, limits.k) });
  const starts = differentOnes(positions).slice(0, Math.min(EXAMPLES, limits.lists));
  const answers = await continueLists({
    lists: starts.map((start) => [start.item]), model: model.name, k: Math.min(LENGTH - 1, limits.k),
    exclude: starts.map((start) => start.item),
  });
  return starts.map((start, index) => [start, ...answers[index].positions]);
}

/** @param {(items: import("./api.js").Item[]) => void} open */
export function createExamples(open) {
  const container = part("examples");
  let shown = null; // the hash of the model whose examples are shown or requested

  function button(items) {
    const names = items.filter((item, index) => items.findIndex(sameItem(item)) === index).map(titleOf);
    return make("li", {}, make("button", { type: "button", click: () => open(items) }, names.join(" · ")));
  }

  /** Show the examples of a model; without any if it cannot make them. */
  async function show(model, limits) {
    if (shown === model.hash) return;
    shown = model.hash;
    container.setAttribute("aria-busy", "true");
    const lists = await exampleLists(model, limits).catch(() => []);
    if (shown !== model.hash) return;
    if (!lists.length) shown = null; // asked again when the page is empty again
    container.replaceChildren(...lists.map(button));
    part("examples-label").hidden = lists.length === 0;
    container.removeAttribute("aria-busy");
  }

  return { show };
}
