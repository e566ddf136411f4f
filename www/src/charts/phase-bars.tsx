/** Stacked bars of the phases of the wait, and their legend. */
import type { Dimension } from "../api/api-types";
import type { PhaseName } from "../api/schemas";
import { duration, humanize, valueLabel } from "../format";
import { setFilter } from "../state";
import type { Stack } from "./phase-stack";

export const phaseLabel = (phase: PhaseName) =>
  phase === "dns" ? "DNS" : phase === "not_reported" ? "not reported by the server" : humanize(phase);

/** Each phase with its color. Of one stream, also with its length. */
export function PhaseLegend({ parts }: { parts: readonly { phase: PhaseName; ms?: number }[] }) {
  return (
    <ul class="legend">
      {parts.map(({ phase, ms }) => (
        <li key={phase} class={`key phase-${phase}`}>
          {phaseLabel(phase)} {ms !== undefined && duration(ms)}
        </li>
      ))}
      <li class="key phase-wait">whole wait</li>
    </ul>
  );
}

/** Each part with its length, and then the whole wait. */
export const stackTexts = ({ parts, wait }: Stack) => [
  ...parts.map(({ phase, ms }) => `${phaseLabel(phase)} ${duration(ms)}`),
  `whole wait ${duration(wait)}`,
];

export function StackedBar({ stack, most, by }: { stack: Stack; most: number; by?: string | null }) {
  const { label, parts, wait } = stack;
  const width = (ms: number) => `${((100 * ms) / most).toFixed(2)}%`;
  const told = stackTexts(stack);
  return (
    <div class="phase-row" data-stack={label}>
      <span>
        {by && label !== "other" ? (
          <button type="button" class="narrow" onClick={() => setFilter(by as Dimension, label)}>
            {valueLabel(by, label)}
          </button>
        ) : (
          label
        )}{" "}
        <b>{duration(wait)}</b>
      </span>
      <div class="phase-bar" role="img" aria-label={`${label}: ${told.join(", ")}`}>
        {parts.map(({ phase, ms }, at) => (
          <span key={phase} class={`phase-${phase}`} style={{ width: width(ms) }} title={told[at]} />
        ))}
        {wait !== null && <i style={{ left: width(wait) }} title={told.at(-1)} />}
      </div>
    </div>
  );
}
