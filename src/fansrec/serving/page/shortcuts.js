/** Keyboard shortcuts of the page, except in text fields and while a dialog is open. */

const TEXT_FIELDS = "input:not([type=range], [type=checkbox]), textarea, select";

/** @param {{undo: () => void, redo: () => void, search: () => void, help: () => void}} actions */
export function listenToShortcuts({ undo, redo, search, help }) {
  const plain = { "/": search, "?": help };

  function commandOf({ key, shiftKey }) {
    const letter = key.toLowerCase();
    if (letter === "y" || (letter === "z" && shiftKey)) return redo;
    return letter === "z" ? undo : null;
  }

  document.addEventListener("keydown", (event) => {
    if (document.querySelector("dialog[open]") || event.target.closest(TEXT_FIELDS) || event.altKey) return;
    const act = event.ctrlKey || event.metaKey ? commandOf(event) : plain[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}
