/** The phases of the wait as the parts of stacked bars: two of percentiles, and one of the streams around the p95. */
import type { Phase, PhaseName, Phases } from "../api/schemas";
import { isKnown } from "../format";

export interface Stack {
  label: string;
  parts: { phase: PhaseName; ms: number }[];
  /** The whole wait. Percentiles of the parts rarely add up to it, means do. */
  wait: number | null;
}

/** Phases that at least half as many streams tell as the one that most tell. Others would mix different streams. */
export function stackedPhases(phases: readonly Phase[]): Phase[] {
  const most = Math.max(0, ...phases.map(({ n }) => n));
  return phases.filter(({ n }) => n > 0 && n >= most / 2);
}

export function stacksOf({ phases, ttft, around_p95: around }: Phases): Stack[] {
  const shown = stackedPhases(phases);
  const stacks: Stack[] = (["p50", "p95"] as const).map((percentile) => ({
    label: percentile,
    parts: shown.flatMap((phase) => {
      const ms = phase[`${percentile}_ms`];
      return isKnown(ms) && ms > 0 ? [{ phase: phase.phase, ms }] : [];
    }),
    wait: ttft[`${percentile}_ms`] ?? null,
  }));
  if (!around) return stacks;
  const parts = around.parts.map(({ phase, mean_ms: ms }) => ({ phase, ms }));
  return [...stacks, { label: "around p95", parts, wait: around.ttft_mean_ms }];
}

/** The longest of all bars and waits. */
export function longestOf(stacks: readonly Stack[]): number {
  const sum = ({ parts }: Stack) => parts.reduce((all, { ms }) => all + ms, 0);
  return Math.max(1, ...stacks.map((stack) => Math.max(sum(stack), stack.wait ?? 0)));
}
