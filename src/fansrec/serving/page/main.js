/** The page: a list that continues as you build it. This file connects its parts. */

import * as api from "./api.js";
import { retryDelay } from "./requester.js";
import { validate, validIds } from "./validation.js";
import { registerCategories } from "./colors.js";
import { createColumns } from "./columns.js";
import { createKeyDialog, createSavedDialog, createShareDialog, openHelp, prepareDialogs } from "./dialogs.js";
import { debounce, part, placeIcons } from "./dom.js";
import { createListView } from "./list_view.js";
import { hideBanner, showBanner, showNotice } from "./notices.js";
import { createRulesView } from "./rules_view.js";
import { createSearchBox } from "./search_box.js";
import { fromFragment, toFragment } from "./sharing.js";
import { START, added, blocked, createStore, moved, removed, replaced, sameItem } from "./state.js";
import { formatCount, formatFailure, formatNames, formatOmitted, labelOf } from "./format.js";

const TEXT_FIELDS = "input:not([type=range], [type=checkbox]), textarea, select";
const store = createStore(START);
let service = null; // the answer of /v1/models: {default, models, limits}
let starting; // the timer of the next attempt
let lastHash = location.hash; // the fragment as the page last read or wrote it; a different one is a new link
let readings = 0; // of the address: a slow answer for an earlier link must not replace a later one

const undo = () => {
  const description = store.undo();
  showNotice(description ? `Undone: ${description}.` : "Nothing to undo.");
};
const changeWithNotice = (next, description) => {
  store.change(next, description);
  showNotice(`${description[0].toUpperCase()}${description.slice(1)}.`, { label: "Undo", run: undo });
};

const add = (item) => store.change(added(store.state, [item]), `added ${labelOf(item)}`);
const askKey = createKeyDialog(() => (store.state.models.length ? columns.retryAll() : start()));
const listView = createListView(part("list"), {
  move: (key, to) => store.change(moved(store.state, key, to), "moved an item"),
  remove: (key) => changeWithNotice(removed(store.state, key),
    `removed ${labelOf(store.state.list.find((entry) => entry.key === key))}`),
});
const columns = createColumns(part("columns"), {
  add,
  addAll: (items) => changeWithNotice(added(store.state, items), `added ${formatCount(items.length, "item")}`),
  block: (item) => changeWithNotice(blocked(store.state, item), `blocked ${labelOf(item)}`),
  chooseModel,
  modelChanged: () => refreshModels().catch(() => {}), // the next answer triggers it again
  needsKey: () => askKey(),
});
const rulesView = createRulesView(part("rules"), store);
const openSaved = createSavedDialog(store, () => service.limits, (items, blockedItems, description) =>
  store.change({ ...replaced(store.state, items), blocked: blockedItems }, description));
const openShare = createShareDialog(store);

createSearchBox({ input: part("search"), options: part("options"), note: part("search-note") }, {
  modelName: () => store.state.models[0],
  isIn: (item) => store.state.list.some(sameItem(item)),
  choose: add,
  needsKey: () => askKey(),
});
placeIcons(document);
prepareDialogs();
const buttons = { undo, "open-saved": openSaved, "open-share": openShare, "open-help": openHelp,
  clear: () => changeWithNotice(replaced(store.state, []), "cleared the list"),
  "add-second": () => chooseModel(1, unusedModel().name) };
for (const [name, act] of Object.entries(buttons)) part(name).addEventListener("click", act);

/** Keyboard shortcuts, except in text fields and while a dialog is open. */
document.addEventListener("keydown", (event) => {
  if (document.querySelector("dialog[open]") || event.target.closest(TEXT_FIELDS)) return;
  const command = event.ctrlKey || event.metaKey;
  const isUndo = command && !event.shiftKey && event.key === "z";
  const plain = { "/": () => part("search").focus(), "?": openHelp };
  const act = isUndo ? undo : command || event.altKey ? null : plain[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

/** A model that is not shown yet. */
const unusedModel = () => service.models.find((model) => !store.state.models.includes(model.name));

/** Show a model in a column. An empty name closes the column; the name of the other column swaps the two. */
function chooseModel(index, name) {
  const { models } = store.state;
  const chosen = models.includes(name) ? models.toReversed() : models.toSpliced(index, 1, ...(name ? [name] : []));
  store.reset({ ...store.state, models: chosen });
}

/** Write the list to the address, unless a link was opened that the page has not read yet. */
const updateAddress = debounce((state) => {
  if (location.hash !== lastHash) return; // the hashchange event is still queued; its handler reads the link
  const fragment = toFragment(state);
  history.replaceState(null, "", fragment ? `#${fragment}` : location.pathname);
  lastHash = location.hash;
}, 200);

store.subscribe((state) => {
  const models = state.models.map((name) => service.models.find((model) => model.name === name));
  listView.render(state.list);
  rulesView.render(state, models, service.limits);
  columns.update(state, service.models, service.limits);
  const empty = state.list.length === 0;
  part("search").placeholder = models[0].names ? "Search by name" : "Search by id";
  part("empty").hidden = !empty;
  part("count").textContent = empty ? "" : String(state.list.length);
  part("next-heading").textContent = empty ? "Start with one of these" : "What comes next";
  part("undo").disabled = !store.undoable;
  part("clear").disabled = part("open-share").disabled = empty;
  part("add-second").hidden = state.models.length > 1 || !unusedModel();
  updateAddress(state);
});

/** The models shown at first: those of a link if they exist, otherwise the default one and another one. */
function initialModels(requested) {
  const names = service.models.map((model) => model.name);
  const known = [...new Set(requested)].filter((name) => names.includes(name)).slice(0, 2);
  return known.length ? known : [service.default, ...names.filter((name) => name !== service.default)].slice(0, 2);
}

/** Return the state that the address describes and report unknown items; null if the address was read again
 * meanwhile. */
async function fromAddress() {
  const reading = ++readings;
  lastHash = location.hash;
  const link = fromFragment(lastHash, service.limits);
  const models = initialModels(link?.models ?? []);
  if (!link) return { ...START, ...validate({}, service.limits).rules, models };
  const items = await api.itemsById(validIds([...link.items, ...link.blocked]), models[0]);
  if (reading !== readings) return null;
  const byId = new Map(items.map((item) => [String(item.item), item]));
  const missing = link.items.filter((id) => !byId.has(id));
  const unknown = `${formatCount(missing.length, "item")} of this link unknown here: ${formatNames(missing)}.`;
  if (missing.length || link.omitted) showNotice(`${missing.length ? unknown : ""}${formatOmitted(link.omitted)}`);
  const known = (ids) => ids.map((id) => byId.get(id)).filter(Boolean);
  return replaced({ ...START, ...link.rules, models, blocked: known(link.blocked) }, known(link.items));
}

async function refreshModels() {
  service = await api.models();
  registerCategories(service.models);
  store.reset({ ...store.state, models: initialModels(store.state.models) });
}

async function start(failures = 0) {
  clearTimeout(starting);
  try {
    service = await api.models();
    registerCategories(service.models);
    const next = await fromAddress();
    if (next) store.reset(next);
    hideBanner();
  } catch (problem) {
    if (problem.status === undefined) throw problem;
    if (problem.needsKey) askKey();
    const seconds = retryDelay(problem, failures);
    showBanner(formatFailure(problem, seconds), () => start());
    if (seconds !== null) starting = setTimeout(() => start(failures + 1), seconds * 1000);
  }
}

/** A link was opened in the open page. Other fragments, such as that of the skip link, are not lists: they are soon
 * replaced by the list's own. */
window.addEventListener("hashchange", () => {
  if (!service || location.hash === lastHash) return; // the start will read it, or has read it already
  const started = store.state.models.length > 0;
  if (!fromFragment(location.hash, service.limits)) {
    lastHash = location.hash;
    if (started) updateAddress(store.state);
  } else if (started) {
    fromAddress().then((next) => next && store.change(next, "opened a link"), (problem) => showNotice(problem.message));
  } else {
    start();
  }
});
start();
