/** Requests that change faster than answers arrive: only the last one counts, and temporary failures are retried. */

const DEBOUNCE = 120; // milliseconds without a change before a request is sent
const MAX_DELAY = 10; // seconds between attempts while the service does not answer

/** Seconds until the next attempt, or null if the same request would fail again. */
export function retryDelay(problem, failures) {
  if (!problem.temporary) return null;
  return problem.retryAfter ?? Math.min(MAX_DELAY, 2 ** failures);
}

/**
 * @param {(request: any, signal: AbortSignal) => Promise<any>} send
 * @param {(result: {phase: string, answer?: any, problem?: any, seconds?: number|null}) => void} show
 *   is called for each phase: waiting, answered, failed (with the seconds until the next attempt, or null)
 */
export function createRequester(send, show, debounce = DEBOUNCE) {
  let request;
  let number = 0; // of the last request: an answer to any other is outdated
  let controller = new AbortController();
  let timer;

  function start(delay) {
    clearTimeout(timer);
    controller.abort();
    controller = new AbortController();
    number += 1;
    const own = number;
    timer = setTimeout(() => attempt(own, controller.signal, 0), delay);
  }

  async function attempt(own, signal, failures) {
    show({ phase: "waiting" });
    try {
      const answer = await send(request, signal);
      if (own === number) show({ phase: "answered", answer });
    } catch (problem) {
      if (own !== number || problem.name === "AbortError") return;
      if (problem.status === undefined) throw problem; // a bug of the page itself
      const seconds = retryDelay(problem, failures);
      show({ phase: "failed", problem, seconds });
      if (seconds !== null) timer = setTimeout(() => attempt(own, signal, failures + 1), seconds * 1000);
    }
  }

  return {
    request(next) { request = next; start(debounce); },
    retry() { start(0); },
    cancel() { start(0); clearTimeout(timer); },
  };
}
