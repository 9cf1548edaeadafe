/** One stop of the tab key for a list of rows, and arrow keys inside it. */

const STEPS = { ArrowUp: -1, ArrowDown: 1 };

/** @param {HTMLElement} container  @param {string} handles selects the control of a row that arrow keys go to */
export function createRoving(container, handles) {
  let current = 0;
  const all = () => [...container.querySelectorAll(handles)];
  const rowOf = (element) => element.closest("li");

  /** Only the controls of the current row are reached by the tab key. */
  function refresh() {
    const controls = all();
    current = Math.max(0, Math.min(current, controls.length - 1));
    controls.forEach((control, place) => {
      for (const button of rowOf(control).querySelectorAll("button")) button.tabIndex = place === current ? 0 : -1;
    });
  }

  function focus(place) {
    current = place;
    refresh();
    all()[current]?.focus();
  }

  container.addEventListener("focusin", (event) => {
    const place = all().indexOf(rowOf(event.target)?.querySelector(handles));
    if (place >= 0) current = place;
    refresh();
  });
  container.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || !rowOf(event.target)) return;
    const last = all().length - 1;
    const goal = { Home: 0, End: last }[event.key] ?? (event.key in STEPS ? current + STEPS[event.key] : null);
    if (goal === null) return;
    event.preventDefault();
    focus(Math.max(0, Math.min(last, goal)));
  });

  /** Runs `render`; where that takes the focused row away, the one now in its place is focused. */
  function keepFocus(render) {
    const within = container.contains(document.activeElement);
    render();
    refresh();
    if (within && !container.contains(document.activeElement)) focus(current);
  }

  return { keepFocus, focus };
}
