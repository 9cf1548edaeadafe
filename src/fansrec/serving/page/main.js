/** The page: a list that continues as you build it. This file connects its parts. */

import * as api from "./api.js";
import { createAddress, initialModels } from "./address.js";
import { differ, withModels } from "./catalogs.js";
import { registerCategories } from "./colors.js";
import { createColumns } from "./columns.js";
import { createKeyDialog, createSavedDialog, createShareDialog, openHelp, prepareDialogs } from "./dialogs.js";
import { part, placeIcons } from "./dom.js";
import { createExamples } from "./examples.js";
import { createListView } from "./list_view.js";
import { hideBanner, showBanner, showNotice } from "./notices.js";
import { createPasteDialog } from "./paste_dialog.js";
import { retryDelay } from "./requester.js";
import { createRulesView } from "./rules_view.js";
import { createSearchBox } from "./search_box.js";
import { listenToShortcuts } from "./shortcuts.js";
import { START, added, blocked, createStore, moved, removed, replaced, sameItem } from "./state.js";
import { formatCount, formatFailure, labelOf } from "./format.js";
import { createWhyDialog } from "./why_dialog.js";

const store = createStore(START);
let service = null; // the answer of /v1/models: {default, models, limits}
let starting; // the timer of the next attempt

const modelNamed = (name) => service.models.find((model) => model.name === name);
const shownModels = () => store.state.models.map(modelNamed);

const undo = () => {
  const description = store.undo();
  showNotice(description ? `Undone: ${description}.` : "Nothing to undo.");
};
const redo = () => {
  const description = store.redo();
  showNotice(description ? `Made again: ${description}.` : "Nothing to make again.");
};
const changeWithNotice = (next, description) => {
  store.change(next, description);
  showNotice(`${description[0].toUpperCase()}${description.slice(1)}.`, { label: "Undo", run: undo });
};

const add = (item) => store.change(added(store.state, [item]), `added ${labelOf(item)}`);
const addAll = (items) => changeWithNotice(added(store.state, items), `added ${formatCount(items.length, "item")}`);
const askKey = createKeyDialog(() => (store.state.models.length ? columns.retryAll() : start()));
const listView = createListView(part("list"), {
  move: (key, to) => store.change(moved(store.state, key, to), "moved an item"),
  remove: (key) => changeWithNotice(removed(store.state, key),
    `removed ${labelOf(store.state.list.find((entry) => entry.key === key))}`),
});
const openWhy = createWhyDialog({
  entryOf: (id) => store.state.list.find((entry) => String(entry.item) === String(id)),
  needsKey: () => askKey(),
});
const columns = createColumns(part("columns"), {
  add,
  addAll,
  block: (item) => changeWithNotice(blocked(store.state, item), `blocked ${labelOf(item)}`),
  chooseModel,
  why: openWhy,
  modelChanged: () => refreshModels().catch(() => {}), // the next answer triggers it again
  needsKey: () => askKey(),
});
const rulesView = createRulesView(part("rules"), store);
const examples = createExamples((items) => store.change(replaced(store.state, items), "opened an example"));
const openSaved = createSavedDialog(store, () => service.limits, (items, blockedItems, description) =>
  store.change({ ...replaced(store.state, items), blocked: blockedItems }, description));
const openShare = createShareDialog(store);
const openPaste = createPasteDialog({ model: () => shownModels()[0], limits: () => service.limits, add: addAll });

createSearchBox({ input: part("search"), options: part("options"), note: part("search-note"), scope: part("scope") }, {
  model: () => shownModels()[0],
  list: () => store.state.list,
  isIn: (item) => store.state.list.some(sameItem(item)),
  choose: add,
  paste: openPaste,
  needsKey: () => askKey(),
});
placeIcons(document);
prepareDialogs();
const buttons = { undo, redo, "open-saved": openSaved, "open-share": openShare, "open-help": openHelp,
  "open-paste": () => openPaste(), clear: () => changeWithNotice(replaced(store.state, []), "cleared the list"),
  "add-second": () => chooseModel(1, unusedModel().name) };
for (const [name, act] of Object.entries(buttons)) part(name).addEventListener("click", act);
listenToShortcuts({ undo, redo, search: () => part("search").focus(), help: openHelp });

/** A model that is not shown yet. */
const unusedModel = () => service.models.find((model) => !store.state.models.includes(model.name));

/** Show a model in a column. An empty name closes the column; the name of the other column swaps the two. */
function chooseModel(index, name) {
  const { models } = store.state;
  const chosen = models.includes(name) ? models.toReversed() : models.toSpliced(index, 1, ...(name ? [name] : []));
  store.reset(withModels(store.state, shownModels(), chosen.map(modelNamed)));
}

const address = createAddress({
  store,
  service: () => service,
  open: (state) => store.change(state, "opened a link"),
  start: () => start(),
  notify: showNotice,
});

/** Say that the models continue with different items, if they do. */
function showCatalogs(models) {
  const [first, second] = models;
  part("catalogs").hidden = !differ(models);
  part("catalogs").textContent = differ(models)
    ? `${second.name} has another catalog than ${first.name}: other items or other categories. Each continues with `
      + `items of its own and skips those it does not know. The search finds items of ${first.name}.`
    : "";
}

store.subscribe((state) => {
  const models = shownModels();
  listView.render(state.list);
  rulesView.render(state, models, service.limits);
  showCatalogs(models);
  columns.update(state, service.models, service.limits);
  const empty = state.list.length === 0;
  part("search").placeholder = `Search by ${models[0].names ? "name" : "id"} or category`;
  part("empty").hidden = !empty;
  if (empty) examples.show(models[0], service.limits);
  part("count").textContent = empty ? "" : String(state.list.length);
  part("next-heading").textContent = empty ? "Start with one of these" : "What comes next";
  part("undo").disabled = !store.undoable;
  part("redo").disabled = !store.redoable;
  part("clear").disabled = part("open-share").disabled = empty;
  part("add-second").hidden = state.models.length > 1 || !unusedModel();
  address.write(state);
});

async function refreshModels() {
  const before = shownModels();
  service = await api.models();
  registerCategories(service.models);
  store.reset(withModels(store.state, before, initialModels(service, store.state.models)));
}

async function start(failures = 0) {
  clearTimeout(starting);
  try {
    service = await api.models();
    registerCategories(service.models);
    const state = await address.read();
    if (state) store.reset(state);
    hideBanner();
  } catch (problem) {
    if (problem.status === undefined) throw problem;
    if (problem.needsKey) return showKeyNeeded(problem);
    const seconds = retryDelay(problem, failures);
    showBanner(formatFailure(problem, seconds), () => start());
    if (seconds !== null) starting = setTimeout(() => start(failures + 1), seconds * 1000);
  }
}

function showKeyNeeded(problem) {
  showBanner(problem.message, askKey, "Enter a key");
  askKey();
}

start();
