/** The page: a list that continues as it is built. Here its parts meet; each has a file of its own. */

import * as api from "./api.js";
import { waitAfter } from "./asking.js";
import { checked, possibleIds } from "./checking.js";
import { learnCategories } from "./colours.js";
import { createColumns } from "./columns.js";
import { createKeyDialog, createSavedDialog, createShareDialog, openHelp, prepareDialogs } from "./dialogs.js";
import { debounced, placeIcons } from "./dom.js";
import { createListView } from "./list_view.js";
import { banner, noBanner, notice } from "./notices.js";
import { createRulesView } from "./rules_view.js";
import { createSearchBox } from "./search_box.js";
import { fromFragment, toFragment } from "./sharing.js";
import { listenForShortcuts } from "./shortcuts.js";
import { START, added, blocked, createStore, moved, removed, replaced, sameItem } from "./state.js";
import { count, labelOf, leftWords, listed } from "./words.js";

const part = (name) => document.getElementById(name);
const store = createStore(START);
let service = null; // what /v1/models told: {default, models, limits}
let starting; // the timer of the next attempt
let lastHash = location.hash; // the fragment as the page last read or wrote it; a different one is a new link
let readings = 0; // how often the address was read: a slow answer about an earlier link must not replace a later one

const undo = () => {
  const words = store.undo();
  notice(words ? `Undone: ${words}.` : "Nothing to undo.");
};
const changed = (next, words) => {
  store.change(next, words);
  notice(`${words[0].toUpperCase()}${words.slice(1)}.`, { words: "Undo", run: undo });
};

const add = (item) => store.change(added(store.state, [item]), `added ${labelOf(item)}`);
const askKey = createKeyDialog(() => (store.state.models.length ? columns.againAll() : start()));
const listView = createListView(part("list"), {
  move: (key, to) => store.change(moved(store.state, key, to), "moved an item"),
  remove: (key) => changed(removed(store.state, key),
    `removed ${labelOf(store.state.list.find((entry) => entry.key === key))}`),
});
const columns = createColumns(part("columns"), {
  add,
  addAll: (items) => changed(added(store.state, items), `added ${count(items.length, "item")}`),
  block: (item) => changed(blocked(store.state, item), `blocked ${labelOf(item)}`),
  chooseModel,
  modelChanged: () => refreshModels().catch(() => {}), // the next answer asks for it again
  keyNeeded: () => askKey(),
});
const rulesView = createRulesView(part("rules"), store);
const openSaved = createSavedDialog(store, () => service.limits, (items, out, words) =>
  store.change({ ...replaced(store.state, items), blocked: out }, words));
const openShare = createShareDialog(store);

createSearchBox({ input: part("search"), options: part("options"), note: part("search-note") }, {
  modelName: () => store.state.models[0],
  isIn: (item) => store.state.list.some(sameItem(item)),
  choose: add,
  keyNeeded: () => askKey(),
});
placeIcons(document);
prepareDialogs();
listenForShortcuts({ search: () => part("search").focus(), help: openHelp, undo });
const buttons = { undo, "open-saved": openSaved, "open-share": openShare, "open-help": openHelp,
  clear: () => changed(replaced(store.state, []), "cleared the list"),
  "add-second": () => chooseModel(1, spareModel().name) };
for (const [name, act] of Object.entries(buttons)) part(name).addEventListener("click", act);

/** A model that is not asked yet. */
const spareModel = () => service.models.find((model) => !store.state.models.includes(model.name));

/** No name closes the column; the other column's name swaps the two. */
function chooseModel(at, name) {
  const { models } = store.state;
  const chosen = models.includes(name) ? models.toReversed() : models.toSpliced(at, 1, ...(name ? [name] : []));
  store.reset({ ...store.state, models: chosen });
}

/** Write the list into the address, unless a link was opened there that the page has not read yet. */
const remember = debounced((state) => {
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
  part("next-words").textContent = empty ? "Start with one of these" : "What comes next";
  part("undo").disabled = !store.undoable;
  part("clear").disabled = part("open-share").disabled = empty;
  part("add-second").hidden = state.models.length > 1 || !spareModel();
  remember(state);
});

/** The models asked at first: those of a link where there are such, else the default one and one beside it. */
function chosenModels(wanted) {
  const names = service.models.map((model) => model.name);
  const known = [...new Set(wanted)].filter((name) => names.includes(name)).slice(0, 2);
  return known.length ? known : [service.default, ...names.filter((name) => name !== service.default)].slice(0, 2);
}

/** Return the state that the address names and report the items that are unknown here; null if the address was read
 * again meanwhile. */
async function fromAddress() {
  const reading = ++readings;
  lastHash = location.hash;
  const link = fromFragment(lastHash, service.limits);
  const models = chosenModels(link?.models ?? []);
  if (!link) return { ...START, ...checked({}, service.limits).rules, models };
  const items = await api.itemsById(possibleIds([...link.items, ...link.blocked]), models[0]);
  if (reading !== readings) return null;
  const byId = new Map(items.map((item) => [String(item.item), item]));
  const missing = link.items.filter((id) => !byId.has(id));
  const unknown = `${count(missing.length, "item")} of this link unknown here: ${listed(missing)}.`;
  if (missing.length || link.left) notice(`${missing.length ? unknown : ""}${leftWords(link.left)}`);
  const known = (ids) => ids.map((id) => byId.get(id)).filter(Boolean);
  return replaced({ ...START, ...link.rules, models, blocked: known(link.blocked) }, known(link.items));
}

async function refreshModels() {
  service = await api.models();
  learnCategories(service.models);
  store.reset({ ...store.state, models: chosenModels(store.state.models) });
}

async function start(failures = 0) {
  clearTimeout(starting);
  try {
    service = await api.models();
    learnCategories(service.models);
    const next = await fromAddress();
    if (next) store.reset(next);
    noBanner();
  } catch (problem) {
    if (problem.status === undefined) throw problem;
    if (problem.keyNeeded) askKey();
    const seconds = waitAfter(problem, failures);
    banner(seconds === null ? problem.message : `${problem.message} Trying again in ${seconds} s.`, () => start());
    if (seconds !== null) starting = setTimeout(() => start(failures + 1), seconds * 1000);
  }
}

/** A link pasted into the open page. Other fragments, like that of the skip link, are not lists: the list's own returns
 * to the address soon after. */
window.addEventListener("hashchange", () => {
  if (!service || location.hash === lastHash) return; // the start will read it, or has read it already
  const started = store.state.models.length > 0;
  if (!fromFragment(location.hash, service.limits)) {
    lastHash = location.hash;
    if (started) remember(store.state);
  } else if (started) {
    fromAddress().then((next) => next && store.change(next, "opened a link"), (problem) => notice(problem.message));
  } else {
    start();
  }
});
start();
