/** Dragging rows to another position by mouse, pen or finger. A finger drags by the handle; elsewhere it scrolls. */

const THRESHOLD = 5; // pixels before a press becomes a drag
const EDGE = 40; // pixels from the ends of what scrolls where it does
const EDGE_SPEED = 8;

/** @param {HTMLElement} container of rows  @param {(row: HTMLElement, to: number) => void} drop */
export function enableDragging(container, drop) {
  container.addEventListener("pointerdown", (event) => {
    const row = event.target.closest("li");
    const handle = event.target.closest("[data-handle]");
    const onControl = !handle && (event.pointerType !== "mouse" || event.target.closest("button"));
    if (event.button === 0 && row && !onControl) follow(container, row, event, drop);
  });
}

/** What scrolls when a row is dragged to an end: the list if it scrolls by itself, otherwise the page. */
function scrollerOf(container) {
  const own = container.scrollHeight > container.clientHeight && getComputedStyle(container).overflowY !== "visible";
  if (own) return { element: container, edges: () => container.getBoundingClientRect() };
  return { element: document.scrollingElement, edges: () => {
    const { top, bottom } = container.getBoundingClientRect(); // the page scrolls no further than to an end of the list
    return { top: top < 0 ? 0 : -Infinity, bottom: bottom > innerHeight ? innerHeight : Infinity };
  } };
}

const middleOf = ({ top, bottom }) => (top + bottom) / 2;

function follow(container, row, start, drop) {
  const rows = [...container.children];
  const from = rows.indexOf(row);
  const { height } = row.getBoundingClientRect();
  const middles = rows.map((one) => middleOf(one.getBoundingClientRect()));
  const scroller = scrollerOf(container);
  const scrolledAtStart = scroller.element.scrollTop;
  const done = new AbortController();
  let dragging = false;
  let to = from;
  let pointer = start.clientY;
  let frame = 0;

  function moveRows() {
    const shift = pointer - start.clientY + scroller.element.scrollTop - scrolledAtStart;
    const now = middles[from] + shift;
    // A row is passed when the nearer edge of the dragged row has reached its middle.
    const edges = [now - height / 2, now + height / 2];
    to = middles.filter((middle, at) => at !== from && middle < edges[at < from ? 0 : 1]).length;
    row.style.setProperty("translate", `0 ${shift}px`);
    rows.forEach((other, at) => {
      const passed = at > from && at <= to ? -1 : at < from && at >= to ? 1 : 0;
      if (other !== row) other.style.setProperty("translate", passed ? `0 ${passed * height}px` : "none");
    });
  }

  function scrollAtEdges() {
    const { top, bottom } = scroller.edges();
    const step = pointer < top + EDGE ? -EDGE_SPEED : pointer > bottom - EDGE ? EDGE_SPEED : 0;
    if (step) scroller.element.scrollBy({ top: step, behavior: "instant" });
    moveRows();
    frame = requestAnimationFrame(scrollAtEdges);
  }

  function begin() {
    dragging = true;
    row.setPointerCapture(start.pointerId);
    row.classList.add("dragged");
    container.classList.add("dragging");
    frame = requestAnimationFrame(scrollAtEdges);
  }

  function end(accepted) {
    done.abort();
    cancelAnimationFrame(frame);
    container.classList.remove("dragging");
    row.classList.remove("dragged");
    for (const other of rows) other.style.removeProperty("translate");
    if (dragging && accepted && to !== from) drop(row, to);
  }

  const listen = (target, kind, act) => target.addEventListener(kind, act, { signal: done.signal });
  listen(window, "pointermove", (event) => {
    pointer = event.clientY;
    if (!dragging && Math.abs(pointer - start.clientY) > THRESHOLD) begin();
    if (dragging) moveRows();
  });
  listen(window, "pointerup", () => end(true));
  listen(window, "pointercancel", () => end(false));
  listen(window, "keydown", (event) => {
    if (event.key !== "Escape" || !dragging) return;
    event.stopPropagation();
    end(false);
  });
}
