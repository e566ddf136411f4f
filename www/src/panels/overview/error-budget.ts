/** Model of the error budgets: order of urgency, status, forecast and text. */
import type { AlertSeverity, Budget, ObjectiveName, Slo, Targets } from "../../api/api-types";
import { ABSENT, configuredPercent, count, duration, isKnown, plural } from "../../format";

/** An error budget with its use case and period. */
export interface UseCaseBudget {
  site: string | null;
  useCase: string;
  from: number;
  to: number;
  days: number;
  targets: Targets;
  budget: Budget;
}

export type BudgetStatus = "good" | "warn" | "bad" | "none";

/** Sorts by alert severity, then by the remaining budget. */
export function byUrgency(answers: readonly Slo[]): UseCaseBudget[] {
  const all = answers.flatMap(({ budgets, targets, site, ...period }) =>
    budgets.map((budget): UseCaseBudget => {
      const useCase = targets.use_case ?? "unknown";
      return { ...period, site: site ?? null, useCase, targets, budget };
    }),
  );
  const urgency = ({ budget: { alert } }: UseCaseBudget) => (alert ? SEVERITIES.indexOf(alert) : SEVERITIES.length);
  const remaining = ({ budget }: UseCaseBudget) => (hasEnoughStreams(budget) ? budget.remaining : null) ?? Infinity;
  return all.sort((a, b) => urgency(a) - urgency(b) || remaining(a) - remaining(b));
}

/** Whether there are enough streams for a remaining budget. */
export function hasEnoughStreams({ total }: Budget): boolean {
  return total >= MIN_STREAMS;
}

export function statusOf(budget: Budget): BudgetStatus {
  const { alert, remaining } = budget;
  if (alert && URGENT.includes(alert)) return "bad";
  if (!hasEnoughStreams(budget) || !isKnown(remaining)) return "none";
  if (remaining < 0) return "bad";
  return alert || remaining < LOW_REMAINING ? "warn" : "good";
}

/** `62 % left`. Without enough streams there is no text. */
export function remainingText(budget: Budget): string {
  const { remaining } = budget;
  if (!hasEnoughStreams(budget) || !isKnown(remaining)) return ABSENT;
  if (remaining < 0) return "overspent";
  const share = remaining * 100;
  const text = share > 99 && share < 100 ? ">99" : share > 0 && share < 1 ? "<1" : Math.round(share);
  return `${text}\u00a0% left`;
}

function objectiveText({ budget: { objective, objective_ratio }, targets }: UseCaseBudget): string {
  const share = configuredPercent(objective_ratio);
  if (objective === "availability") return `SLO: ${share} of streams succeed`;
  if (objective === "integrity") return `SLO: ${share} of streams are intact`;
  if (objective === "pace") return `SLO: ${share} of streams keep their pace (${paceText(targets)})`;
  if (isKnown(targets.ttft_p95_ms)) return `SLO: ${share} of streams have TTFT ≤ ${duration(targets.ttft_p95_ms)}`;
  return `SLO: ${share} of streams end within ${duration(targets.e2e_p95_ms)}`;
}

function paceText({ tpot_ms: tpot, longest_gap_ms: gap }: Targets): string {
  const parts = [isKnown(tpot) && `≤ ${duration(tpot)} per token`, isKnown(gap) && `no pause over ${duration(gap)}`];
  return parts.filter((part) => part !== false).join(", ");
}

/** A stream that misses the objective. */
const MISS_LABELS: Record<ObjectiveName, string> = {
  availability: "failed",
  integrity: "not intact",
  speed: "too slow",
  pace: "off pace",
};

export const ALERT_LABELS: Record<AlertSeverity, { label: string; meaning: string }> = {
  P1: { label: "P1", meaning: "p99 is more than twice its target" },
  page: { label: "page", meaning: "Burning fast enough to page the on-call engineer" },
  P2: { label: "P2", meaning: "p95 is more than twice its target" },
  incident: { label: "incident", meaning: "Burning fast enough to inform the team today" },
  P3: { label: "P3", meaning: "p95 has been above one and a half times its target for a day" },
  ticket: { label: "ticket", meaning: "Burning fast enough to inform the team this week" },
};

/** The objective, its use so far and the forecast. */
export function describeBudget(item: UseCaseBudget): string {
  const { good, total, allowed, objective } = item.budget;
  const text = objectiveText(item);
  if (total === 0) return `${text}. No eligible streams in ${item.days} days.`;
  const misses = `${count(total - good)} ${MISS_LABELS[objective]}`;
  if (!hasEnoughStreams(item.budget))
    return `${text}. ${misses}. Not enough traffic yet (${plural(total, "stream")}; needs ${MIN_STREAMS}).`;
  return `${text}. ${misses}, ${wholeStreams(allowed)} allowed. ${forecastText(item)}`.trimEnd();
}

function forecastText(item: UseCaseBudget): string {
  const isOverspent = (item.budget.remaining ?? 0) < 0;
  const rate = burnRateOver(item.budget, DAY_MINUTES);
  if (!isKnown(rate)) return "No streams in the last 24\u00a0h.";
  if (isOverspent && rate > 1) return `Burn rate (24\u00a0h): ${burnRateText(rate)}.`;
  if (isOverspent) {
    const recovery = daysUntil(item, (left) => left >= 0);
    if (recovery === null) return "";
    return `At the current burn rate the budget starts to recover in ${approximateDays(recovery)}.`;
  }
  if (rate === 0) return "None in the last 24\u00a0h.";
  const exhausted = daysUntilExhausted(item);
  const forecast = exhausted === null ? "lasts the full period" : `runs out in ${approximateDays(exhausted)}`;
  return `At the current burn rate the budget ${forecast}.`;
}

/** Days until the budget is used up at the last day's rate; `null` if it lasts. */
export function daysUntilExhausted(item: UseCaseBudget): number | null {
  return daysUntil(item, (left) => left < 0);
}

/**
 * Extrapolates the last day. The period slides: days that leave it take their failures and their allowance with them.
 */
function daysUntil({ budget, days, to }: UseCaseBudget, isReached: (left: number) => boolean): number | null {
  const { by_day: past, objective_ratio } = budget;
  const rate = burnRateOver(budget, DAY_MINUTES);
  const daily = budget.burn_rates.find(({ minutes }) => minutes === DAY_MINUTES)?.total ?? 0;
  if (!isKnown(rate) || daily === 0) return null;
  const broken = rate * (1 - objective_ratio) * daily;
  const leftAfter = (ahead: number) => {
    const daysInPeriod = past.filter(({ timestamp_ms }) => timestamp_ms + DAY_MS > to + (ahead - days) * DAY_MS);
    const total = daysInPeriod.reduce((sum, day) => sum + day.total, daily * ahead);
    const bad = daysInPeriod.reduce((sum, day) => sum + day.total - day.good, broken * ahead);
    return (1 - objective_ratio) * total - bad;
  };
  for (let ahead = 1; ahead <= days; ahead++) {
    const left = leftAfter(ahead);
    if (!isReached(left)) continue;
    const before = leftAfter(ahead - 1);
    const share = before === left ? 1 : before / (before - left);
    return ahead - 1 + Math.min(1, Math.max(0, share));
  }
  return null;
}

export function burnRateOver({ burn_rates }: Budget, minutes: number): number | null {
  return burn_rates.find((over) => over.minutes === minutes)?.rate ?? null;
}

/** Remaining share of the whole period's allowance after each day. */
export function burnDown({ by_day: past, allowed }: Budget): { timestamp_ms: number; left: number }[] {
  let broke = 0;
  return past.map(({ timestamp_ms, good, total }) => {
    broke += total - good;
    return { timestamp_ms, left: allowed > 0 ? 1 - broke / allowed : broke > 0 ? -1 : 1 };
  });
}

/** A burn rate: `3.1×`. */
export function burnRateText(rate: number | null | undefined): string {
  if (!isKnown(rate)) return ABSENT;
  return `${rate >= 10 ? Math.round(rate) : rate.toFixed(1)}×`;
}

/** `5 min`, `6 h`, `3 d`. */
export function windowText(minutes: number): string {
  if (minutes % DAY_MINUTES === 0) return `${minutes / DAY_MINUTES}\u00a0d`;
  return minutes % 60 === 0 ? `${minutes / 60}\u00a0h` : `${minutes}\u00a0min`;
}

function approximateDays(days: number): string {
  const hours = days * 24;
  if (hours < 1.5) return "1 hour";
  if (hours < 36) return plural(Math.round(hours), "hour");
  return plural(Math.round(days), "day");
}

/** A fraction of an allowed failure allows none. */
function wholeStreams(allowed: number): string {
  return count(Math.floor(allowed + 1e-9));
}

/** Most urgent first. */
export const SEVERITIES: readonly AlertSeverity[] = ["P1", "page", "P2", "incident", "P3", "ticket"];
export const URGENT: readonly AlertSeverity[] = ["P1", "page", "P2", "incident"];

/** The collector's alerts use the same minimum: below it, one or two streams decide. */
const MIN_STREAMS = 100;
/** Below this remaining share a budget is shown as a warning, even without an alert. */
const LOW_REMAINING = 0.1;
const DAY_MINUTES = 24 * 60;
const DAY_MS = DAY_MINUTES * 60_000;
