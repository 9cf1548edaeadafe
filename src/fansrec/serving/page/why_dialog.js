/** The dialog that says why an item is suggested: items of the list that speak for it, similar lists, the parts. */

import { explainItem } from "./api.js";
import { make, part } from "./dom.js";
import { formatCount, labelOf, titleOf } from "./format.js";

const PARTS = {
  network: "the network", memory: "lists that are similar to yours", linear: "items that often go together",
  popularity: "how many lists have it", none: "nothing: its score is 0",
};
const percent = (share) => `${Math.round(100 * share)}%`;

/** A row with a bar; screen readers read the number. */
function barRow(text, share) {
  const filled = make("span", {});
  filled.style.setProperty("width", `${(100 * Math.max(0, Math.min(1, share))).toFixed(1)}%`);
  return make("li", {},
    make("span", { class: "why-text" }, text), make("span", { class: "why-share" }, percent(share)),
    make("span", { class: "bar", "aria-hidden": "true" }, filled));
}

const listRow = (name, shared) => make("li", {},
  make("span", { class: "why-text" }, name), make("span", { class: "why-share" }, `${shared} of your items`));

/** A row for each list with a title or an id, and one for all others. */
function listRows(lists) {
  const named = lists.filter(({ id, title }) => id !== null || title !== null);
  const rows = named.map(({ id, title, shared }) => listRow(title ?? `List ${id}`, shared));
  const others = lists.filter((list) => !named.includes(list));
  const most = Math.max(...others.map(({ shared }) => shared));
  const range = others.length > 1 ? `up to ${most}` : most;
  return others.length ? [...rows, listRow(formatCount(others.length, "list without a name", "lists without names"), range)]
    : rows;
}

/** Return the function that opens the dialog for a suggested item, of the answer to `request`.
 * @param {(item: string|number) => any} entryOf finds an item in the user's list */
export function createWhyDialog({ entryOf, needsKey }) {
  const dialog = part("why");
  let controller = new AbortController();
  dialog.addEventListener("close", () => controller.abort());

  function show(name, rows) {
    part(`why-${name}`).replaceChildren(...rows);
    part(`why-${name}-section`).hidden = rows.length === 0;
  }

  function showExplanation({ parts, because, lists }) {
    const own = because.map((one) => [entryOf(one.item) ?? one, one.weight]);
    show("because", own.map(([item, weight]) => barRow(titleOf({ group: null, ...item }), weight)));
    show("lists", listRows(lists));
    show("parts", Object.entries(parts).map(([name, share]) => barRow(PARTS[name] ?? name, share)));
    part("why-note").textContent = own.length || lists.length ? ""
      : `No item of your list speaks for it${parts.none ? "" : ": many people like it"}.`;
  }

  return async function open(position, request) {
    controller.abort();
    controller = new AbortController();
    const { signal } = controller;
    part("why-heading").textContent = `Why ${labelOf(position)}?`;
    part("why-note").textContent = "Asking the model …";
    for (const name of ["because", "lists", "parts"]) show(name, []);
    if (!dialog.open) dialog.showModal();
    try {
      const explanation = await explainItem(request, position.item, signal);
      if (explanation) showExplanation(explanation);
      else part("why-note").textContent = "The model would not suggest it now.";
    } catch (problem) {
      if (problem.name === "AbortError") return;
      if (problem.status === undefined) throw problem; // a bug of the page itself
      part("why-note").textContent = problem.message;
      if (problem.needsKey) needsKey();
    }
  };
}
