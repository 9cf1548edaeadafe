/** The dialogs for saved lists, sharing, keyboard shortcuts and the API key. */

import { hasKey, storeKey } from "./api.js";
import { iconButton, make, part } from "./dom.js";
import { showNotice } from "./notices.js";
import { copy, deleteList, download, fromJson, savedLists, saveList, toJson, toText } from "./sharing.js";
import { formatCount, formatOmitted } from "./format.js";

/** Let every dialog close by a cross (but not that for the key), by Escape and by a click outside. */
export function prepareDialogs() {
  for (const dialog of document.querySelectorAll("dialog")) {
    dialog.prepend(iconButton("cross", "Close", { click: () => dialog.close() }));
    dialog.addEventListener("pointerdown", (event) => event.target === dialog && dialog.close());
  }
}

export const openHelp = () => part("help").showModal();

/** @param {() => any} limits of the service
 * @param {(items: any[], blocked: any[], description: string) => void} load */
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
    const openButton = make("button", { type: "button", class: "wide", click: () => open(text, name) },
      make("span", { class: "title" }, name), make("span", { class: "sub" }, when));
    const deleteButton = iconButton("cross", `Delete ${name}`, { click: () => { deleteList(name); show(); } });
    return make("li", {}, openButton, deleteButton);
  }

  function open(text, name) {
    try {
      const { items, blocked, omitted } = fromJson(text, limits());
      load(items, blocked, `opened ${name}`);
      dialog.close();
      showNotice(`${name}: ${formatCount(items.length, "item")}.${formatOmitted(omitted)}`);
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
    showNotice(`Saved as ${name} in this browser.`);
  });
  part("download").addEventListener("click", () => download("list.json", toJson(store.state)));
  part("upload").addEventListener("change", async (event) => {
    const [file] = event.target.files;
    if (file) open(await file.text(), file.name);
    event.target.value = ""; // so that the same file can be chosen again
  });
  return () => { part("saved-problem").textContent = ""; show(); dialog.showModal(); };
}

export function createShareDialog(store) {
  const dialog = part("share");
  const formats = { "copy-link": ["Link", () => location.href], "copy-text": ["Text", () => toText(store.state)],
    "copy-json": ["JSON", () => toJson(store.state)] };
  for (const [name, [label, text]] of Object.entries(formats)) {
    part(name).addEventListener("click", async () => {
      try {
        await copy(text(), dialog);
        dialog.close();
        showNotice(`${label} copied.`);
      } catch {
        showNotice("The browser did not allow copying. Select the link and copy it.");
      }
    });
  }
  return () => {
    part("share-link").value = location.href;
    dialog.showModal();
    part("share-link").select();
  };
}

/** Return the function that asks for a key, once for any number of refused requests; `onKey` is called with one. */
export function createKeyDialog(onKey) {
  const dialog = part("key");
  part("key-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const key = part("key-field").value.trim();
    if (!key) return;
    storeKey(key);
    part("key-field").value = "";
    dialog.close();
    onKey();
  });
  return () => {
    if (dialog.open) return;
    part("key-refused").hidden = !hasKey();
    dialog.showModal();
  };
}
