/** The list in the address of the page: written after changes, read at the start and when a link is opened. */

import { itemsById } from "./api.js";
import { choiceOf, differ, knownTo } from "./catalogs.js";
import { debounce } from "./dom.js";
import { formatCount, formatNames, formatOmitted } from "./format.js";
import { fromFragment, toFragment } from "./sharing.js";
import { START, replaced, unknownItem } from "./state.js";
import { validate, validIds } from "./validation.js";

/** The models shown at first: those of a link if they exist, otherwise the default one and another one.
 * @returns {import("./api.js").Model[]} */
export function initialModels(service, requested = []) {
  const names = service.models.map((model) => model.name);
  const known = [...new Set(requested)].filter((name) => names.includes(name)).slice(0, 2);
  const chosen = known.length ? known
    : [service.default, ...names.filter((name) => name !== service.default)].slice(0, 2);
  return chosen.map((name) => service.models.find((model) => model.name === name));
}

/** The items of a link by id: those of the first model, and those that only a second one with its own catalog has. */
async function itemsOf(ids, models) {
  const byId = new Map();
  for (const model of differ(models) ? models : [models[0]]) {
    const missing = ids.filter((id) => !byId.has(id));
    for (const item of await itemsById(missing, model.name)) byId.set(String(item.item), item);
  }
  return byId;
}

/** The chosen categories of a link that the models have, as fields of the state, and the names of the others. */
function categoriesOf(rules, models) {
  const chosen = { only: [], onlyOther: [] };
  const ignored = new Set([...rules.only, ...rules.onlyOther]);
  models.forEach((model, index) => {
    const choice = choiceOf(models, index);
    chosen[choice] = knownTo(model, rules[choice]);
    for (const name of chosen[choice]) ignored.delete(name);
  });
  return { chosen, ignored: [...ignored] };
}

function noticeOf(missing, ignored, omitted) {
  const unknown = `${formatCount(missing.length, "item")} of this link unknown here: ${formatNames(missing)}.`;
  const count = formatCount(ignored.length, "category", "categories");
  const categories = `${count} of this link unknown here and ignored: ${formatNames(ignored)}.`;
  const sentences = [missing.length ? unknown : "", ignored.length ? categories : "", formatOmitted(omitted).trim()];
  return sentences.filter(Boolean).join(" ");
}

/** The state that a link describes, and what of it cannot be shown as it is. Unknown items stay in the list. */
async function stateOf(link, service) {
  const models = initialModels(service, link?.models);
  const names = models.map((model) => model.name);
  if (!link) return { state: { ...START, ...validate({}, service.limits).rules, models: names }, notice: "" };
  const ids = validIds([...link.items, ...link.blocked]);
  const byId = await itemsOf(ids, models);
  const shown = (list) => list.filter((id) => ids.includes(id)).map((id) => byId.get(id) ?? unknownItem(id));
  const { chosen, ignored } = categoriesOf(link.rules, models);
  const rules = { ...START, ...link.rules, ...chosen, models: names, blocked: shown(link.blocked) };
  const missing = link.items.filter((id) => !byId.has(id));
  return { state: replaced(rules, shown(link.items)), notice: noticeOf(missing, ignored, link.omitted) };
}

/** @param {(state: any) => void} open is called for a link that is opened while the page shows a list
 * @param {(text: string) => void} notify  @param {() => any} service the answer of /v1/models, or null */
export function createAddress({ store, service, open, start, notify }) {
  let last = location.hash; // the fragment as the page last read or wrote it; a different one is a new link
  let readings = 0; // of the address: a slow answer for an earlier link must not replace a later one

  /** Write the list to the address, unless a link was opened that the page has not read yet. */
  const write = debounce((state) => {
    if (location.hash !== last) return; // the hashchange event is still queued; its handler reads the link
    const fragment = toFragment(state);
    history.replaceState(null, "", fragment ? `#${fragment}` : location.pathname);
    last = location.hash;
  }, 200);

  /** Return the state that the address describes; null if the address was read again meanwhile. */
  async function read() {
    const reading = ++readings;
    last = location.hash;
    const { state, notice } = await stateOf(fromFragment(last, service().limits), service());
    if (reading !== readings) return null;
    if (notice) notify(notice);
    return state;
  }

  /** A link was opened in the open page. Other fragments, such as that of the skip link, are not lists: they are soon
   * replaced by the list's own. */
  window.addEventListener("hashchange", () => {
    if (!service() || location.hash === last) return; // the start will read it, or has read it already
    const started = store.state.models.length > 0;
    if (!fromFragment(location.hash, service().limits)) {
      last = location.hash;
      if (started) write(store.state);
    } else if (started) {
      read().then((state) => state && open(state), (problem) => notify(problem.message));
    } else {
      start();
    }
  });

  return { write, read };
}
