/** Where the wait for the first token passes: its phases over many streams, stacked. */
import type { AsyncResult } from "../api/async-result";
import type { PhaseName, Phases as PhasesAnswer } from "../api/schemas";
import { Figure, Loaded } from "../charts/figure";
import { longestOf, stackedPhases, stacksOf, type Stack } from "../charts/phase-stack";
import { columnDuration, count, duration, humanize, plural } from "../format";

const TITLE = "Where the wait passes";
const MEANING = "Phases of the time to first token, each with its own percentile over the streams that tell it";

const labelOf = (phase: PhaseName) =>
  phase === "dns" ? "DNS" : phase === "not_reported" ? "not reported by the server" : humanize(phase);

export function Phases({ result }: { result: AsyncResult<PhasesAnswer> }) {
  return (
    <Loaded chart="phases" title={TITLE} result={result}>
      {(answer) => <PhasesFigure answer={answer} />}
    </Loaded>
  );
}

function PhasesFigure({ answer }: { answer: PhasesAnswer }) {
  const stacks = stacksOf(answer);
  const most = longestOf(stacks);
  const shown = stackedPhases(answer.phases);
  const told = answer.phases.filter(({ n }) => n > 0);
  const names = new Set(stacks.flatMap(({ parts }) => parts.map(({ phase }) => phase)));
  return (
    <Figure
      chart="phases"
      title={TITLE}
      meaning={MEANING}
      caption={captionOf(told.length, told.length - shown.length, answer.around_p95)}
      table={{
        columns: ["Phase", "n", "p50", "p95", "p99"],
        rows: () =>
          told.map(({ phase, n, p50_ms: p50, p95_ms: p95, p99_ms: p99 }) => [
            labelOf(phase),
            count(n),
            ...[p50, p95, p99].map(columnDuration),
          ]),
      }}
    >
      {told.length === 0 ? (
        <p class="nothing">
          No stream tells its phases. They need server timing, or the probe extension networkTiming().
        </p>
      ) : (
        <>
          <ul class="legend">
            {[...names].map((phase) => (
              <li key={phase} class={`key phase-${phase}`}>
                {labelOf(phase)}
              </li>
            ))}
            <li class="key phase-wait">whole wait</li>
          </ul>
          <div class="phase-stacks">
            {stacks.map((stack) => (
              <StackedBar key={stack.label} stack={stack} most={most} />
            ))}
          </div>
        </>
      )}
    </Figure>
  );
}

function StackedBar({ stack: { label, parts, wait }, most }: { stack: Stack; most: number }) {
  const width = (ms: number) => `${((100 * ms) / most).toFixed(2)}%`;
  const told = parts.map(({ phase, ms }) => `${labelOf(phase)} ${duration(ms)}`);
  return (
    <div class="phase-row" data-stack={label}>
      <span>
        {label} <b>{duration(wait)}</b>
      </span>
      <div class="phase-bar" role="img" aria-label={`${label}: ${told.join(", ")}; whole wait ${duration(wait)}`}>
        {parts.map(({ phase, ms }, at) => (
          <span key={phase} class={`phase-${phase}`} style={{ width: width(ms) }} title={told[at]} />
        ))}
        {wait !== null && <i style={{ left: width(wait) }} title={`whole wait ${duration(wait)}`} />}
      </div>
    </div>
  );
}

function captionOf(told: number, left: number, around: PhasesAnswer["around_p95"]): string {
  if (told === 0) return "";
  const rare = left === 0 ? "" : ` ${plural(left, "phase")} of few streams: see the table.`;
  return `${around?.text ?? ""} Percentiles of the parts do not add up to that of the whole wait.${rare}`;
}
