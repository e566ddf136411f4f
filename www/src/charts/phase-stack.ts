/** The phases of the wait as the parts of stacked bars: percentiles, or means, which add up to the wait. */
import type { Phase, PhaseName, Phases } from "../api/schemas";
import { isKnown } from "../format";

export type Average = "mean" | "p50" | "p95";

export interface Stack {
  label: string;
  parts: { phase: PhaseName; ms: number }[];
  /** The whole wait. Percentiles of the parts rarely add up to it, means do. */
  wait: number | null;
}

/** The phases of all streams, of a step or of a group. A step lacks them if not all its streams are kept. */
type Split = Partial<Pick<Phases, "phases" | "mean">> & { ttft?: Partial<Phases["ttft"]> | null };

/** Phases that at least half as many streams tell as the one that most tell. Others would mix different streams. */
export function stackedPhases(phases: readonly Phase[]): Phase[] {
  const most = Math.max(0, ...phases.map(({ n }) => n));
  return phases.filter(({ n }) => n > 0 && n >= most / 2);
}

export function stackOf(label: string, { phases = [], ttft, mean }: Split, average: Average): Stack {
  if (average === "mean") return { label, parts: partsOf(mean?.parts), wait: mean?.ttft_mean_ms ?? null };
  const field = `${average}_ms` as const;
  const parts = stackedPhases(phases).flatMap((phase) => {
    const ms = phase[field];
    return isKnown(ms) && ms > 0 ? [{ phase: phase.phase, ms }] : [];
  });
  return { label, parts, wait: ttft?.[field] ?? null };
}

const partsOf = (parts: readonly { phase: PhaseName; mean_ms: number }[] = []) =>
  parts.map(({ phase, mean_ms: ms }) => ({ phase, ms }));

export function stacksOf(answer: Phases): Stack[] {
  const stacks = (["p50", "p95"] as const).map((percentile) => stackOf(percentile, answer, percentile));
  const around = answer.around_p95;
  if (!around) return stacks;
  return [...stacks, { label: "around p95", parts: partsOf(around.parts), wait: around.ttft_mean_ms }];
}

/** The longest of all bars and waits. */
export function longestOf(stacks: readonly Stack[]): number {
  const sum = ({ parts }: Stack) => parts.reduce((all, { ms }) => all + ms, 0);
  return Math.max(1, ...stacks.map((stack) => Math.max(sum(stack), stack.wait ?? 0)));
}
