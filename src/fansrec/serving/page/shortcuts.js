/** Keys that work anywhere on the page, but not while something is typed or a dialog is open. */

const TYPED = "input:not([type=range], [type=checkbox]), textarea, select";

/** @param {{search: () => void, help: () => void, undo: () => void}} actions */
export function listenForShortcuts({ search, help, undo }) {
  const plain = { "/": search, "?": help };
  document.addEventListener("keydown", (event) => {
    if (document.querySelector("dialog[open]") || event.target.closest(TYPED)) return;
    const command = event.ctrlKey || event.metaKey;
    const undoes = command && !event.shiftKey && event.key === "z";
    const act = undoes ? undo : command || event.altKey ? null : plain[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}
