// Runs random programs in a page without an SDK and in one with it. It returns the programs whose outcomes differ,
// reduced to the steps that matter.

import { program } from "/walk/program.js";

/** Runs of a program before its outcomes count as different. Network timing alone can change an outcome. */
const TRIES = 6;

/**
 * Runs programs from number `from` on. It ends after `count` programs, after `seconds`, or at the third program whose
 * outcome differs with `sdk`.
 */
export async function walk(sdk, from, count, seconds) {
  const until = performance.now() + seconds * 1000;
  const pages = { native: createPage("n", ""), watched: createPage("w", sdk) };
  const finds = [];
  let seed = from;
  let reruns = 0;
  for (; seed < from + count && performance.now() < until && finds.length < 3; seed++) {
    const made = program(seed);
    if (await isSame(made)) continue;
    finds.push(describe(await shrink(made)));
  }
  pages.native.close();
  pages.watched.close();
  return { ran: seed - from, reruns, finds };

  /** Whether some outcome occurred both with and without the SDK. */
  async function isSame(made, most = TRIES) {
    const outcomes = { native: new Set(), watched: new Set() };
    for (let tries = 0; tries < most; tries++) {
      if (tries == 1) reruns++;
      for (const name of ["native", "watched"]) outcomes[name].add(await pages[name].run(made));
      for (const outcome of outcomes.watched) if (outcomes.native.has(outcome)) return true;
    }
    made.outcomes = [[...outcomes.native][0], [...outcomes.watched][0]].map((outcome) => JSON.parse(outcome));
    return false;
  }

  async function shrink(made) {
    let least = made;
    for (let at = least.steps.length - 1; at >= 0; at--) {
      const fewer = { ...least, steps: least.steps.toSpliced(at, 1) };
      if (!(await isSame(fewer, 3))) least = fewer;
    }
    return least;
  }
}

/** Describes a program that differs, for the output. */
function describe({ seed, answers, steps, outcomes }) {
  const words = steps.map(({ name, on, how }) => `${name} ${on} ${how}`);
  const spans = outcomes.map(({ notes, ends }) => [...notes.map((span) => span.join(" | ")), JSON.stringify(ends)]);
  return { seed, steps: words, answers: answers.map((answer) => JSON.stringify(answer)), native: spans[0], watched: spans[1] };
}

/** A frame that is replaced after a run that left connections open, because browsers limit their number. */
function createPage(letter, sdk) {
  let frame, ready;
  let runs = 0;

  return { run, close };

  async function run(made) {
    ready ??= open();
    const app = await ready;
    const outcome = await app(JSON.stringify(made), `${letter}${made.seed}-${1e6 + runs++}`);
    const { ends } = JSON.parse(outcome);
    if (ends.some(([end]) => !end) || runs % 50 == 0) close();
    return outcome;
  }

  async function open() {
    frame = document.createElement("iframe");
    frame.src = `/walk/frame.html${sdk && `?sdk=${sdk}`}`;
    const loaded = new Promise((resolve) => frame.addEventListener("load", resolve));
    document.body.append(frame);
    await loaded;
    return frame.contentWindow.ready;
  }

  function close() {
    frame?.remove();
    ready = undefined;
  }
}
