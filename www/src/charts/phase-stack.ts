/** The phases of the wait as the parts of two stacked bars. */
import type { Phase, PhaseName, Phases } from "../api/schemas";
import { isKnown } from "../format";

export type StackedPercentile = "p50" | "p95";

export interface Stack {
  percentile: StackedPercentile;
  parts: { phase: PhaseName; ms: number }[];
  /** Percentile of the whole wait. The parts rarely add up to it. */
  wait: number | null;
}

/** Phases that at least half as many streams tell as the one that most tell. Others would mix different streams. */
export function stackedPhases(phases: readonly Phase[]): Phase[] {
  const most = Math.max(0, ...phases.map(({ n }) => n));
  return phases.filter(({ n }) => n > 0 && n >= most / 2);
}

export function stacksOf({ phases, ttft }: Phases): Stack[] {
  const shown = stackedPhases(phases);
  return (["p50", "p95"] as const).map((percentile) => ({
    percentile,
    parts: shown.flatMap((phase) => {
      const ms = phase[`${percentile}_ms`];
      return isKnown(ms) && ms > 0 ? [{ phase: phase.phase, ms }] : [];
    }),
    wait: ttft[`${percentile}_ms`] ?? null,
  }));
}

/** The longest of all bars and waits. */
export function longestOf(stacks: readonly Stack[]): number {
  const sum = ({ parts }: Stack) => parts.reduce((all, { ms }) => all + ms, 0);
  return Math.max(1, ...stacks.map((stack) => Math.max(sum(stack), stack.wait ?? 0)));
}
