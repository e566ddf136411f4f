/** Where the wait for the first token passes: its phases over many streams, stacked, in all, over time or by dimension. */
import { useSignal } from "@preact/signals";

import type { AsyncResult } from "../api/async-result";
import type { Phases as PhasesAnswer } from "../api/schemas";
import { Figure, Loaded } from "../charts/figure";
import { phaseLabel, PhaseLegend, StackedBar, stackTexts } from "../charts/phase-bars";
import { longestOf, stackedPhases, stackOf, stacksOf, type Average, type Stack } from "../charts/phase-stack";
import { linearTicks } from "../charts/ticks";
import {
  columnDuration,
  count,
  dateTime,
  dimensionLabel,
  plural,
  tickDuration,
  valueLabel,
} from "../format";
import { phasesBy } from "../state";
import { SegmentedControl } from "../ui/segmented-control";
import { DimensionSelect } from "./header/dimension-select";

const TITLE = "Where the wait passes";
const MEANING = "Phases of the time to first token";

export function Phases({ result }: { result: AsyncResult<PhasesAnswer> }) {
  return (
    <Loaded chart="phases" title={TITLE} result={result}>
      {(answer) => <PhasesFigure answer={answer} />}
    </Loaded>
  );
}

function PhasesFigure({ answer }: { answer: PhasesAnswer }) {
  const average = useSignal<Average>("mean");
  const { points, groups, by, omitted } = answer;
  const splits =
    points?.map((point) => ({ ...point, label: dateTime(point.timestamp_ms, answer.to) })) ??
    groups?.map((group) => ({ ...group, label: group.value }));
  const stacks = splits?.map((split) => stackOf(split.label, split, average.value)) ?? stacksOf(answer);
  const most = longestOf(stacks);
  const told = answer.phases.filter(({ n }) => n > 0);
  const names = new Set(stacks.flatMap(({ parts }) => parts.map(({ phase }) => phase)));
  return (
    <Figure
      chart="phases"
      title={TITLE}
      meaning={MEANING}
      aside={
        <div class="switches">
          {splits && (
            <SegmentedControl<Average>
              legend="Percentile"
              name="phases"
              options={AVERAGES}
              chosen={average.value}
              onChoose={(value) => (average.value = value)}
            />
          )}
          <DimensionSelect label="Split" value={phasesBy.value} onChoose={(by) => (phasesBy.value = by)}>
            <option value="">whole range</option>
            <option value="time">over time</option>
          </DimensionSelect>
        </div>
      }
      caption={
        splits
          ? NOTES[average.value === "mean" ? 0 : 1] + (omitted ? ` ${plural(omitted, "more value")}.` : "")
          : captionOf(told.length, answer)
      }
      table={
        splits
          ? {
              columns: [by ? dimensionLabel(by) : "Time", "n", "whole wait", ...[...names].map(phaseLabel)],
              rows: () =>
                splits.map(({ label, ttft }, at) => [
                  valueLabel(by ?? "", label),
                  count(ttft?.n),
                  columnDuration(stacks[at]?.wait),
                  ...[...names].map((name) =>
                    columnDuration(stacks[at]?.parts.find(({ phase }) => phase === name)?.ms),
                  ),
                ]),
            }
          : {
              columns: ["Phase", "n", "p50", "p95", "p99"],
              rows: () =>
                told.map(({ phase, n, p50_ms: p50, p95_ms: p95, p99_ms: p99 }) => [
                  phaseLabel(phase),
                  count(n),
                  ...[p50, p95, p99].map(columnDuration),
                ]),
            }
      }
    >
      {told.length === 0 ? (
        <p class="nothing">
          No stream tells its phases. They need server timing, or the probe extension networkTiming().
        </p>
      ) : (
        <>
          <PhaseLegend parts={[...names].map((phase) => ({ phase }))} />
          {points ? (
            <Columns stacks={stacks} most={most} />
          ) : (
            <div class="phase-stacks">
              {stacks.map((stack) => (
                <StackedBar key={stack.label} stack={stack} most={most} by={by} />
              ))}
            </div>
          )}
        </>
      )}
    </Figure>
  );
}

function Columns({ stacks, most }: { stacks: readonly Stack[]; most: number }) {
  const height = (ms: number) => `${((100 * ms) / most).toFixed(2)}%`;
  return (
    <>
      <div class="phase-columns" role="img" aria-label={TITLE}>
        {linearTicks(most, 4).map((tick) => (
          <small key={tick} style={{ bottom: height(tick) }}>
            {tickDuration(tick)}
          </small>
        ))}
        {stacks.map((stack) => (
          <div
            key={stack.label}
            class="phase-column"
            title={[stack.label, ...stackTexts(stack)].join("\n")}
          >
            {stack.parts.map(({ phase, ms }) => (
              <span key={phase} class={`phase-${phase}`} style={{ height: height(ms) }} />
            ))}
            {stack.wait !== null && <i style={{ bottom: height(stack.wait) }} />}
          </div>
        ))}
      </div>
      <p class="phase-times">
        <span>{stacks[0]?.label}</span>
        <span>{stacks.at(-1)?.label}</span>
      </p>
    </>
  );
}

const AVERAGES = (["mean", "p50", "p95"] as const).map((value) => ({ value, label: value }));
const NOTES = [
  "Mean parts of all streams add up to the whole wait.",
  "Percentiles of the parts do not add up to that of the whole wait.",
];

function captionOf(told: number, { phases, around_p95: around }: PhasesAnswer): string {
  if (told === 0) return "";
  const left = told - stackedPhases(phases).length;
  const rare = left === 0 ? "" : ` ${plural(left, "phase")} of few streams: see the table.`;
  return `${around?.text ?? ""} ${NOTES[1]}${rare}`;
}
