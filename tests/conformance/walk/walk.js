// Runs made-up programs in a page without an SDK and in one with it, and keeps those that come out otherwise,
// without the steps that do not matter.

import { program } from "/walk/program.js";

/** How often a program is run again before two outcomes count as different: the network has its own pace. */
const TRIES = 6;

/**
 * Those from `from` on that come out otherwise with `sdk`, and how many were run; it ends after `count` of them
 * or after `seconds`, and at the third find.
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
    finds.push(told(await shrink(made)));
  }
  pages.native.close();
  pages.watched.close();
  return { ran: seed - from, reruns, finds };

  /** Whether the page with the SDK does what the other one can do as well. */
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

/** What a person needs to see of a find. */
function told({ seed, answers, steps, outcomes }) {
  const words = steps.map(({ name, on, how }) => `${name} ${on} ${how}`);
  const spans = outcomes.map(({ notes, ends }) => [...notes.map((span) => span.join(" | ")), JSON.stringify(ends)]);
  return { seed, steps: words, answers: answers.map((answer) => JSON.stringify(answer)), native: spans[0], watched: spans[1] };
}

/** A frame that is made anew when a run has left connections open, as browsers have few of them. */
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
