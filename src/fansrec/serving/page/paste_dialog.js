/** Adding many names at once: the pasted names are searched, and the user confirms what was found for each. */

import { itemsById, search } from "./api.js";
import { make, part } from "./dom.js";
import { cut, formatCount, formatFailure, labelOf, titleOf } from "./format.js";
import { splitNames } from "./names.js";
import { validIds } from "./validation.js";

const MAX_NAMES = 200; // each of them is a search
const AT_ONCE = 4;
const CANDIDATES = 5;

/** Whether a text is more than a name to search. */
export const looksLikeList = (text) => /\S\s*\n\s*\S/.test(text) || (text.match(/,/g) ?? []).length >= 2;

const plain = (text) => text.normalize("NFKD").replace(/[^\p{L}\p{N}]+/gu, " ").trim().toLowerCase();

/** Whether the item has this id or name, apart from case, accents and punctuation. */
function isNamed(item, name) {
  const texts = [String(item.item), labelOf(item), titleOf(item), `${titleOf(item)} ${item.group}`,
    `${item.group} ${titleOf(item)}`];
  return texts.some((text) => plain(text) === plain(name));
}

/** For each name the items it may mean, the best one first.
 * @param {(done: number) => void} progress  @returns {Promise<{name: string, candidates: any[]}[]>} */
async function findAll(names, model, signal, progress) {
  const byId = new Map((await itemsById(validIds(names), model)).map((item) => [String(item.item), item]));
  const found = new Array(names.length);
  let next = 0;
  let done = 0;
  async function work() {
    while (next < names.length) {
      const index = next++;
      const name = names[index];
      const known = byId.get(name);
      const candidates = known ? [known] : await search(cut(name, 200), model, signal, { limit: CANDIDATES });
      const named = candidates.filter((item) => isNamed(item, name));
      found[index] = { name, candidates: [...named, ...candidates.filter((item) => !named.includes(item))],
        sure: named.length === 1 };
      progress(++done);
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return found;
}

/** One name and a field with the items it may mean. */
function row({ name, candidates, sure }, index) {
  const id = `pasted-${index}`;
  const note = !candidates.length ? "not found" : sure ? "" : candidates.length > 1 ? "please check" : "similar name";
  const options = candidates.map((item, at) => make("option", { value: String(at) },
    [titleOf(item), item.group].filter(Boolean).join(" · ")));
  const select = make("select", { id, disabled: !candidates.length }, ...options,
    make("option", { value: "" }, candidates.length ? "Leave out" : "Left out"));
  return make("li", { class: sure ? null : "unsure" },
    make("label", { for: id }, cut(name), note ? make("span", { class: "note" }, note) : null), select);
}

/** @param {{model: () => any, limits: () => any, add: (items: any[]) => void}} actions
 * @returns {(text?: string) => void} opens the dialog; a text is searched immediately */
export function createPasteDialog({ model, limits, add }) {
  const dialog = part("paste");
  let found = [];
  let controller = new AbortController();

  const fields = () => [...part("pasted").querySelectorAll("select")];
  const chosen = () =>
    fields().flatMap((field, index) => (field.value === "" ? [] : [found[index].candidates[field.value]]));

  function showResult(results) {
    found = results;
    part("pasted").replaceChildren(...results.map(row));
    countChosen();
  }

  function countChosen() {
    const count = chosen().length;
    part("paste-add").textContent = `Add ${formatCount(count, "item")}`;
    part("paste-add").hidden = found.length === 0;
    part("paste-add").disabled = count === 0;
  }

  const say = (text) => { part("paste-note").textContent = text; };

  async function find() {
    const names = splitNames(part("paste-text").value);
    const most = Math.min(MAX_NAMES, limits().items);
    controller.abort();
    controller = new AbortController();
    const { signal } = controller;
    showResult([]);
    if (!names.length) return say("Type or paste some names first.");
    try {
      const results = await findAll(names.slice(0, most), model().name, signal,
        (done) => !signal.aborted && say(`Searching: ${done} of ${Math.min(names.length, most)}`));
      if (signal.aborted) return;
      showResult(results);
      say(summarize(results, names.length - results.length));
    } catch (problem) {
      if (problem.status === undefined && problem.name !== "AbortError") throw problem;
      if (!signal.aborted) say(`${formatFailure(problem, null)} Try again.`);
    }
  }

  part("paste-form").addEventListener("submit", (event) => { event.preventDefault(); find(); });
  part("pasted").addEventListener("change", countChosen);
  part("paste-add").addEventListener("click", () => {
    const items = chosen();
    dialog.close();
    add(items);
  });
  dialog.addEventListener("close", () => controller.abort());

  return (text = "") => {
    part("paste-text").value = text;
    showResult([]);
    say("");
    dialog.showModal();
    if (text) find();
  };
}

function summarize(results, omitted) {
  const missing = results.filter(({ candidates }) => !candidates.length).length;
  const unsure = results.filter(({ candidates, sure }) => candidates.length && !sure).length;
  return [
    `${results.length - missing} of ${formatCount(results.length, "name")} found.`,
    unsure ? `Please check ${formatCount(unsure, "name")}.` : "",
    omitted ? `The last ${formatCount(omitted, "name")} were left out: too many at once.` : "",
  ].filter(Boolean).join(" ");
}
