/** The four dialogs: saved lists, sharing, the keys of the keyboard, the API key. */

import { keepKey, hasKey } from "./api.js";
import { iconButton, make } from "./dom.js";
import { notice } from "./notices.js";
import { copy, download, fromJson, toJson, toText } from "./sharing.js";
import { forgetList, savedLists, saveList } from "./storage.js";
import { count, leftWords } from "./words.js";

const part = (name) => document.getElementById(name);

/** Every dialog closes by its cross, by Escape and by a press beside it. */
export function prepareDialogs() {
  for (const dialog of document.querySelectorAll("dialog")) {
    dialog.querySelector("[data-close]")?.addEventListener("click", () => dialog.close());
    dialog.addEventListener("pointerdown", (event) => event.target === dialog && dialog.close());
  }
}

export const openHelp = () => part("help").showModal();

/** @param {() => any} limits of the service  @param {(items: any[], blocked: any[], words: string) => void} load */
export function createSavedDialog(store, limits, load) {
  const dialog = part("saved");

  function show() {
    const lists = savedLists();
    part("saved-none").hidden = lists.length > 0;
    part("saved-lists").replaceChildren(...lists.map(row));
    part("save-submit").disabled = part("download").disabled = store.state.list.length === 0;
  }

  function row({ name, saved, text }) {
    const when = new Date(saved).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
    const opening = make("button", { type: "button", class: "wide", click: () => open(text, name) },
      make("span", { class: "title" }, name), make("span", { class: "sub" }, when));
    const forget = iconButton("cross", `Delete ${name}`, { click: () => { forgetList(name); show(); } });
    return make("li", {}, opening, forget);
  }

  function open(text, name) {
    try {
      const { items, blocked, left } = fromJson(text, limits());
      load(items, blocked, `opened ${name}`);
      dialog.close();
      notice(`${name}: ${count(items.length, "item")}.${leftWords(left)}`);
    } catch (error) {
      part("saved-problem").textContent = error.message;
    }
  }

  part("save-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const name = part("save-name").value.trim();
    if (!name) return;
    saveList(name, toJson(store.state));
    part("save-name").value = "";
    show();
    notice(`Saved as ${name} in this browser.`);
  });
  part("download").addEventListener("click", () => download("list.json", toJson(store.state)));
  part("upload").addEventListener("change", async (event) => {
    const [file] = event.target.files;
    if (file) open(await file.text(), file.name);
    event.target.value = ""; // the same file may be chosen again
  });
  return () => { part("saved-problem").textContent = ""; show(); dialog.showModal(); };
}

export function createShareDialog(store) {
  const dialog = part("share");
  const ways = { "copy-link": ["Link", () => location.href], "copy-text": ["Text", () => toText(store.state)],
    "copy-json": ["JSON", () => toJson(store.state)] };
  for (const [name, [words, text]] of Object.entries(ways)) {
    part(name).addEventListener("click", async () => {
      try {
        await copy(text(), dialog);
        dialog.close();
        notice(`${words} copied.`);
      } catch {
        notice("The browser did not let the page copy. Select the link and copy it.");
      }
    });
  }
  return () => {
    part("share-link").value = location.href;
    dialog.showModal();
    part("share-link").select();
  };
}

/** Asks for a key once, however many questions were refused; `given` is called when there is one. */
export function createKeyDialog(given) {
  const dialog = part("key");
  part("key-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const key = part("key-field").value.trim();
    if (!key) return;
    keepKey(key);
    part("key-field").value = "";
    dialog.close();
    given();
  });
  return () => {
    if (dialog.open) return;
    part("key-refused").hidden = !hasKey();
    dialog.showModal();
  };
}
