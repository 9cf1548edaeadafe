/** Keyboard shortcuts of the whole page, except in text fields and while a dialog is open. */

const TEXT_FIELDS = "input:not([type=range], [type=checkbox]), textarea, select";

/** @param {{search: () => void, help: () => void, undo: () => void}} actions */
export function listenForShortcuts({ search, help, undo }) {
  const plain = { "/": search, "?": help };
  document.addEventListener("keydown", (event) => {
    if (document.querySelector("dialog[open]") || event.target.closest(TEXT_FIELDS)) return;
    const command = event.ctrlKey || event.metaKey;
    const isUndo = command && !event.shiftKey && event.key === "z";
    const act = isUndo ? undo : command || event.altKey ? null : plain[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}
