/** Budgets of use cases in; which matter most, how each stands and when it will be gone, out. */
import type { Budget, AlertSeverity, Slo, Targets } from "../api/api-types";
import { ABSENT, count, duration, isKnown, configuredPercent, plural } from "../format";

/** A budget with the use case that it belongs to. */
export interface Held {
  useCase: string;
  from: number;
  to: number;
  days: number;
  targets: Targets;
  budget: Budget;
}

export type Standing = "good" | "warn" | "bad" | "none";

/** The most urgent first: by alarm, then by what is left. */
export function ranked(answers: readonly Slo[]): Held[] {
  const held = answers.flatMap(({ budgets, targets, ...period }) =>
    budgets.map((budget): Held => ({ ...period, useCase: targets.use_case ?? "unknown", targets, budget })),
  );
  const urgency = ({ budget: { alert } }: Held) => (alert ? SEVERITIES.indexOf(alert) : SEVERITIES.length);
  const left = ({ budget }: Held) => (hasEnough(budget) ? budget.remaining : null) ?? Infinity;
  return held.sort((a, b) => urgency(a) - urgency(b) || left(a) - left(b));
}

/** Whether so many streams could keep or break it that what is left says something. */
export function hasEnough({ total }: Budget): boolean {
  return total >= FEWEST;
}

export function standingOf(budget: Budget): Standing {
  const { alert, remaining } = budget;
  if (alert === "page" || alert === "incident") return "bad";
  if (!hasEnough(budget) || !isKnown(remaining)) return "none";
  if (remaining < 0) return "bad";
  return alert === "ticket" || remaining < LITTLE ? "warn" : "good";
}

/** `62 %` left; the overspent part counts below zero. Of a few streams nothing is told. */
export function leftText(budget: Budget): string {
  const { remaining } = budget;
  if (!hasEnough(budget) || !isKnown(remaining)) return ABSENT;
  if (remaining < 0) return "none left";
  const share = remaining * 100;
  const text = share > 99 && share < 100 ? ">99" : share > 0 && share < 1 ? "<1" : Math.round(share);
  return `${text}\u00a0% left`;
}

/** What is promised, in a few words. */
function promiseText({ budget: { promise, objective }, targets }: Held): string {
  const share = configuredPercent(objective);
  if (promise === "availability") return `${share} end without an error`;
  if (promise === "integrity") return `${share} arrive whole`;
  if (isKnown(targets.ttft_p95_ms)) return `${share} show text within ${duration(targets.ttft_p95_ms)}`;
  return `${share} end within ${duration(targets.e2e_p95_ms)}`;
}

export const ALERT_WORDS: Record<AlertSeverity, { word: string; meaning: string }> = {
  page: { word: "page", meaning: "goes so fast that whoever is on duty should know now" },
  incident: { word: "incident", meaning: "goes so fast that the team should know today" },
  ticket: { word: "ticket", meaning: "goes so fast that the team should know this week" },
};

/** What is promised, what became of it, and how it goes on. */
export function tellBudget(held: Held): string {
  const { good, total, allowed } = held.budget;
  const promise = promiseText(held);
  if (total === 0) return `${promise}. No stream could keep or break it in ${held.days} days.`;
  const broke = total - good;
  if (!hasEnough(held.budget)) return `${promise}. ${count(broke)} of ${count(total)} did not: too few for a budget.`;
  return `${promise}; ${broke === 0 ? "none" : count(broke)} did not, ${roundDown(allowed)} may. ${outlookOf(held)}`;
}

function outlookOf(held: Held): string {
  const isOverspent = (held.budget.remaining ?? 0) < 0;
  const rate = rateOver(held.budget, DAY_MINUTES);
  if (!isKnown(rate)) return "No stream in the last day.";
  if (isOverspent && rate > 1) return `In the last day it went ${rateText(rate)} as fast as it may.`;
  if (isOverspent) {
    const back = simulate(held, (left) => left >= 0);
    return back === null ? "" : `At the last day's rate some is back in ${about(back)}.`;
  }
  const gone = goneIn(held);
  if (rate === 0) return "None in the last day.";
  return `At the last day's rate it ${gone === null ? "lasts" : `is gone in ${about(gone)}`}.`;
}

/** Days until it is used up if everything goes on as in the last day; `null` when it then lasts. */
export function goneIn(held: Held): number | null {
  return simulate(held, (left) => left < 0);
}

/**
 * Goes on day by day as in the last one. The period slides on: days that leave it take with them
 * what broke on them and what that day's traffic allowed.
 */
function simulate({ budget, days, to }: Held, isThere: (left: number) => boolean): number | null {
  const { by_day: past, objective } = budget;
  const rate = rateOver(budget, DAY_MINUTES);
  const daily = budget.burn.find(({ minutes }) => minutes === DAY_MINUTES)?.total ?? 0;
  if (!isKnown(rate) || daily === 0) return null;
  const broken = rate * (1 - objective) * daily;
  const leftAfter = (ahead: number) => {
    const kept = past.filter(({ t }) => t + DAY_MS > to + (ahead - days) * DAY_MS);
    const total = kept.reduce((sum, day) => sum + day.total, daily * ahead);
    const bad = kept.reduce((sum, day) => sum + day.total - day.good, broken * ahead);
    return (1 - objective) * total - bad;
  };
  for (let ahead = 1; ahead <= days; ahead++) {
    const left = leftAfter(ahead);
    if (!isThere(left)) continue;
    const before = leftAfter(ahead - 1);
    const share = before === left ? 1 : before / (before - left);
    return ahead - 1 + Math.min(1, Math.max(0, share));
  }
  return null;
}

export function rateOver({ burn }: Budget, minutes: number): number | null {
  return burn.find((over) => over.minutes === minutes)?.rate ?? null;
}

/** Where what was left stood after each day of the period, as a share of what the whole period allows. */
export function burnDown({ by_day: past, allowed }: Budget): { t: number; left: number }[] {
  let broke = 0;
  return past.map(({ t, good, total }) => {
    broke += total - good;
    return { t, left: allowed > 0 ? 1 - broke / allowed : broke > 0 ? -1 : 1 };
  });
}

/** A rate as people say it: `3.1×`. */
export function rateText(rate: number | null | undefined): string {
  if (!isKnown(rate)) return ABSENT;
  return `${rate >= 10 ? Math.round(rate) : rate.toFixed(1)}×`;
}

/** `5 min`, `6 h`, `3 d`. */
export function lengthText(minutes: number): string {
  if (minutes % DAY_MINUTES === 0) return `${minutes / DAY_MINUTES}\u00a0d`;
  return minutes % 60 === 0 ? `${minutes / 60}\u00a0h` : `${minutes}\u00a0min`;
}

function about(days: number): string {
  const hours = days * 24;
  if (hours < 1.5) return "an hour";
  if (hours < 36) return plural(Math.round(hours), "hour");
  return plural(Math.round(days), "day");
}

/** Half a stream that may break it is none. */
function roundDown(allowed: number): string {
  return count(Math.floor(allowed + 1e-9));
}

export const SEVERITIES: readonly AlertSeverity[] = ["page", "incident", "ticket"];

/** As the collector's alarms: below so many streams one or two decide. */
const FEWEST = 100;
/** Below this share a budget deserves a look even when nothing burns. */
const LITTLE = 0.1;
const DAY_MINUTES = 24 * 60;
const DAY_MS = DAY_MINUTES * 60_000;
