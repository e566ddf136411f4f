// Decides what goes to the collector when: bounds, bundling, retries, and the count of what had to be dropped. Time is
// an argument. A report is a function that makes its JSON when it is sent.

/** Reports of streams that end together share a request. */
export const DELAY_MS = 1000;
/** Browsers allow 64 KiB for all keepalive requests in flight together: one that is awaited, and one on leaving. */
export const MAX_BODY_BYTES = 30_000;
export const MAX_WAITING = 200;
/** As many as the collector takes in one body. */
const MAX_REPORTS = 100;
const MAX_RETRIES = 4;
const FIRST_RETRY_MS = 1000;
const MAX_DOUBLINGS = 6;
const MAX_RETRY_AFTER_MS = 600_000;

// Statuses of answers.

const ACCEPTED = /^2/;
/** The body is at fault, and would be refused again. With 408 and 429 it may be taken later. */
const REFUSED = /^4(?!08|29)/;
/** The collector asks to wait. */
const BUSY = /429|503/;

// How bodies go as the page is left: the collector's answer is not awaited.

export const BLINDLY = 1;
export const BLINDLY_OFFLINE = 2;

export function createOutbox() {
  /** Final reports that the collector has not acknowledged, the oldest first. */
  let waiting = [];
  /** The waiting reports in the body in flight, and the number of all reports in it. */
  let inFlight;
  let sent;
  /** Those that went blindly, and may not have arrived. */
  const unconfirmed = [];
  let due = Infinity;
  /** After a failure nothing goes before this. */
  let notBefore = 0;
  let failures = 0;
  /** The failures among them for which the collector did not ask. */
  let tries = 0;
  /** How many of the next reports go alone: a refusal of many does not say which one it means. */
  let alone = 0;
  /** What had to be dropped, by reason, and the part of it that the body in flight reports. */
  let dropped = {};
  let sentDrops;

  return { push, drop, flushSoon, next, body, answered };

  function push(report, now) {
    enqueue([...waiting, report], now + DELAY_MS);
  }

  function drop(reason, count) {
    if (count > 0) dropped[reason] = (dropped[reason] ?? 0) + count;
  }

  /** Waiting reports go at `time` at the latest. */
  function flushSoon(time) {
    if (waiting.length) due = Math.min(due, time);
  }

  /** When the next body may go, if it is to have waiting reports or something else of the time `other`. */
  function next(other) {
    return inFlight ? Infinity : Math.max(notBefore, Math.min(due, other));
  }

  /**
   * A body with waiting reports and then what `fill` adds, as far as it fits. The caller owes `answered` for it, unless
   * it goes `blindly`: then it calls until there is none. Reports that go so offline, or while nothing gets through,
   * wait on for a page that comes back.
   */
  function body(blindly, fill) {
    const reports = [];
    let room = MAX_BODY_BYTES;
    const add = (make) => {
      const report = make();
      // The app keeps it back.
      if (!report) return true;
      const bytes = new TextEncoder().encode(report).length;
      if ((reports.length && (alone || bytes > room)) || reports.length >= MAX_REPORTS) return false;
      room -= bytes;
      return reports.push(report);
    };
    const excess = waiting.findIndex((make) => !add(make));
    const taken = waiting.splice(0, excess < 0 ? MAX_WAITING : excess);
    due = waiting.length ? 0 : Infinity;
    fill(add);
    if (!reports.length) return enqueue([...unconfirmed.splice(0), ...waiting], 0);
    const drops = JSON.stringify(dropped);
    // Reports carry no `dropped` of their own: it goes before the closing brace.
    if (drops != "{}") reports[0] = reports[0].slice(0, -1) + `,"dropped":${drops}}`;
    if (!blindly) [inFlight, sentDrops, sent] = [taken, dropped, reports.length];
    else if (failures || blindly == BLINDLY_OFFLINE) unconfirmed.push(...taken);
    dropped = {};
    return `{"reports":[${reports}]}`;
  }

  /**
   * The collector's answer: a status of 0 when none came. `spread`, from 0 to 1, keeps many pages from trying again in
   * step.
   */
  function answered(status, retryAfterMs, now, spread) {
    const taken = inFlight;
    inFlight = undefined;
    if (ACCEPTED.test(status)) {
      failures = tries = 0;
      alone = Math.max(alone - taken.length, 0);
      return;
    }
    for (const reason in sentDrops) drop(reason, sentDrops[reason]);
    if (REFUSED.test(status)) refused(taken, now);
    else if (BUSY.test(status) || tries++ < MAX_RETRIES) {
      const backoff = FIRST_RETRY_MS * 2 ** Math.min(failures++, MAX_DOUBLINGS) * (0.75 + spread / 2);
      notBefore = now + Math.max(backoff, Math.min(retryAfterMs, MAX_RETRY_AFTER_MS));
      enqueue([...taken, ...waiting], now);
    } else {
      failures = tries = 0;
      drop("send_failed", taken.length);
    }
  }

  function refused(taken, now) {
    if (sent > 1) {
      alone = taken.length;
      enqueue([...taken, ...waiting], now);
    } else {
      alone = Math.max(alone - 1, 0);
      drop("refused", taken.length);
    }
  }

  /** The oldest give way when too many wait. */
  function enqueue(reports, time) {
    drop("queue_full", reports.length - MAX_WAITING);
    waiting = reports.slice(-MAX_WAITING);
    flushSoon(time);
  }
}
