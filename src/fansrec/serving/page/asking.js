/** Questions that change faster than answers come: only the last one counts, and a passing failure is tried again. */

const QUIET = 120; // milliseconds without a change before the service is asked
const LONGEST_WAIT = 10; // seconds between attempts while nobody answers

/** Seconds until the next attempt, or null if the same question would fail again. */
export function waitAfter(problem, failures) {
  if (!problem.passing) return null;
  return problem.retryAfter ?? Math.min(LONGEST_WAIT, 2 ** failures);
}

/**
 * @param {(question: any, signal: AbortSignal) => Promise<any>} ask
 * @param {(result: {phase: string, answer?: any, problem?: any, seconds?: number|null}) => void} show
 *   hears of each phase: asking, answered, failed (with the seconds until the next attempt, if there will be one)
 */
export function createAsker(ask, show, quiet = QUIET) {
  let question;
  let number = 0; // of the last question: an answer to any other is stale
  let controller = new AbortController();
  let timer;

  function start(delay) {
    clearTimeout(timer);
    controller.abort();
    controller = new AbortController();
    number += 1;
    const mine = number;
    timer = setTimeout(() => attempt(mine, controller.signal, 0), delay);
  }

  async function attempt(mine, signal, failures) {
    show({ phase: "asking" });
    try {
      const answer = await ask(question, signal);
      if (mine === number) show({ phase: "answered", answer });
    } catch (problem) {
      if (mine !== number || problem.name === "AbortError") return;
      if (problem.status === undefined) throw problem; // a fault of the page itself
      const seconds = waitAfter(problem, failures);
      show({ phase: "failed", problem, seconds });
      if (seconds !== null) timer = setTimeout(() => attempt(mine, signal, failures + 1), seconds * 1000);
    }
  }

  return {
    want(next) { question = next; start(quiet); },
    again() { start(0); },
    forget() { start(0); clearTimeout(timer); },
  };
}
