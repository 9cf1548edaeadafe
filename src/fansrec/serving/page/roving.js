/** Roving tabindex: a list of rows is one stop of the tab key, and arrow keys move inside it. */

const STEPS = { ArrowUp: -1, ArrowDown: 1 };

/** @param {HTMLElement} container  @param {string} handles selects the control of a row that arrow keys go to */
export function createRoving(container, handles) {
  let current = 0;
  const all = () => [...container.querySelectorAll(handles)];
  const rowOf = (element) => element.closest("li");

  /** Let the tab key reach only the controls of the current row. */
  function refresh() {
    const controls = all();
    current = Math.max(0, Math.min(current, controls.length - 1));
    controls.forEach((control, index) => {
      for (const button of rowOf(control).querySelectorAll("button")) button.tabIndex = index === current ? 0 : -1;
    });
  }

  function focus(index) {
    current = index;
    refresh();
    all()[current]?.focus();
  }

  container.addEventListener("focusin", (event) => {
    const index = all().indexOf(rowOf(event.target)?.querySelector(handles));
    if (index >= 0) current = index;
    refresh();
  });
  container.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || !rowOf(event.target)) return;
    const last = all().length - 1;
    const target = { Home: 0, End: last }[event.key] ?? (event.key in STEPS ? current + STEPS[event.key] : null);
    if (target === null) return;
    event.preventDefault();
    focus(Math.max(0, Math.min(last, target)));
  });

  /** Run `render`; if it removes the focused row, focus the row that is now at its position. */
  function keepFocus(render) {
    const within = container.contains(document.activeElement);
    render();
    refresh();
    if (within && !container.contains(document.activeElement)) focus(current);
  }

  return { keepFocus, focus };
}
