// What goes out when: JSON of ended streams and the collector's answers come in, bodies of requests
// go out. Time is an argument. A report may be an object that turns into its JSON when it is sent.

/** Reports of streams that end together share a request. */
export const DELAY_MS = 1000;
/**
 * Browsers allow 64 KiB for all keepalive requests under way together: enough for one that is awaited, and
 * one as the page is left.
 */
export const MAX_BODY_BYTES = 30_000;
export const MAX_WAITING = 200;
/** As many as the collector takes in one body. */
const MAX_REPORTS = 100;
const MAX_RETRIES = 4;
const FIRST_RETRY_MS = 1000;
const MAX_DOUBLINGS = 6;
const MAX_RETRY_AFTER_MS = 600_000;

export function createOutbox() {
  /** Final reports that the collector has not answered for, the oldest first. */
  let waiting = [];
  /** Those in the body that an answer is awaited for, and how many reports that has in all. */
  let underWay;
  let sent;
  /** Those that went blindly, and may not have arrived. */
  const doubtful = [];
  let due = Infinity;
  /** After a failure nothing goes before this. */
  let notBefore = 0;
  let failures = 0;
  /** Those of them that the collector did not ask for. */
  let tries = 0;
  /** How many of the next reports go alone: a refusal of many does not say which one it means. */
  let alone = 0;
  /** What had to be dropped, by reason, and the part of it that the body under way tells. */
  let dropped = {};
  let told;

  return { push, drop, flushSoon, next, body, answered };

  function push(report, now) {
    wait([...waiting, report], now + DELAY_MS);
  }

  function drop(reason, count) {
    if (count > 0) dropped[reason] = (dropped[reason] ?? 0) + count;
  }

  /** Lets what waits go at `time` at the latest. */
  function flushSoon(time) {
    if (waiting.length) due = Math.min(due, time);
  }

  /** When the next body may go, if what waits or something else of that time is to be in it. */
  function next(other) {
    return underWay ? Infinity : Math.max(notBefore, Math.min(due, other));
  }

  /**
   * A body with what waits and then what `fill` adds, as far as it fits. `answered` is owed for it,
   * unless it goes `blindly`, as the page is left: then call until there is none. What goes so while nothing gets
   * through, or with a `blindly` over 1, waits on for a page that comes back.
   */
  function body(blindly, fill) {
    const reports = [];
    let room = MAX_BODY_BYTES;
    const add = (waiting) => {
      const report = `${waiting}`;
      // The app keeps it back.
      if (!report) return true;
      const bytes = new TextEncoder().encode(report).length;
      if ((reports.length && (alone || bytes > room)) || reports.length >= MAX_REPORTS) return false;
      room -= bytes;
      return reports.push(report);
    };
    const excess = waiting.findIndex((report) => !add(report));
    const taken = waiting.splice(0, excess < 0 ? MAX_WAITING : excess);
    due = waiting.length ? 0 : Infinity;
    fill(add);
    if (!reports.length) return wait([...doubtful.splice(0), ...waiting], 0);
    const drops = JSON.stringify(dropped);
    // Reports carry no `dropped` of their own: it goes before the closing brace.
    if (drops != "{}") reports[0] = reports[0].slice(0, -1) + `,"dropped":${drops}}`;
    if (!blindly) [underWay, told, sent] = [taken, dropped, reports.length];
    else if (failures + blindly > 1) doubtful.push(...taken);
    dropped = {};
    return `{"reports":[${reports}]}`;
  }

  /**
   * The collector's answer: a status of 0 when none came. `spread`, from 0 to 1, keeps many pages
   * from trying again in step.
   */
  function answered(status, retryAfterMs, now, spread) {
    const taken = underWay;
    underWay = undefined;
    if (/^2/.test(status)) {
      failures = tries = 0;
      alone = Math.max(alone - taken.length, 0);
      return;
    }
    for (const reason in told) drop(reason, told[reason]);
    if (/^4(?!08|29)/.test(status)) refused(taken, now);
    else if (/429|503/.test(status) || tries++ < MAX_RETRIES) {
      const backoff = FIRST_RETRY_MS * 2 ** Math.min(failures++, MAX_DOUBLINGS) * (0.75 + spread / 2);
      notBefore = now + Math.max(backoff, Math.min(retryAfterMs, MAX_RETRY_AFTER_MS));
      wait([...taken, ...waiting], now);
    } else {
      failures = tries = 0;
      drop("send_failed", taken.length);
    }
  }

  function refused(taken, now) {
    if (sent > 1) {
      alone = taken.length;
      wait([...taken, ...waiting], now);
    } else {
      alone = Math.max(alone - 1, 0);
      drop("refused", taken.length);
    }
  }

  /** The oldest give way when too many wait. */
  function wait(reports, time) {
    drop("queue_full", reports.length - MAX_WAITING);
    waiting = reports.slice(-MAX_WAITING);
    flushSoon(time);
  }
}
