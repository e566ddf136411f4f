/** TTFT in the browser beside the server's TTFT, or how to send the server's. */
import { useMemo } from "preact/hooks";
import { useSignal } from "@preact/signals";

import type { Compare as CompareAnswer } from "../api/api-types";
import type { Result } from "../api/async-result";
import { METRIC_LABELS } from "../api/metrics";
import { compareCaption } from "../charts/chart-captions";
import { earlierLines, earlierReadout, type EarlierLine } from "../charts/earlier";
import { Figure, LoadError } from "../charts/figure";
import { Legend, LineChart, type Readout } from "../charts/line-chart";
import type { PlotSpec } from "../charts/plot";
import {
  columnDuration,
  count,
  dateTime,
  duration,
  percent,
  plural,
  sourceLabel,
  tickDuration,
  timeInterval,
} from "../format";
import { hasFewSamples, MIN_SAMPLES } from "../metric";
import { zoomTo } from "../state";
import { SegmentedControl } from "../ui/segmented-control";

type Percentile = "p50" | "p95";

const TITLE = "Time to first token: browser vs. server";

interface CompareProps {
  result: Result<CompareAnswer>;
  from: number;
  to: number;
}

export function Compare({ result, ...range }: CompareProps) {
  if (result.kind === "known") return <CompareFigure answer={result.value} {...range} />;
  return (
    <Figure chart="compare" title={TITLE}>
      <LoadError message={result.message} />
    </Figure>
  );
}

function CompareFigure({ answer, from, to }: { answer: CompareAnswer; from: number; to: number }) {
  const percentile = useSignal<Percentile>("p50");
  const which = percentile.value;
  const spec = useMemo(() => plotOf(answer, which, from, to), [answer, which, from, to]);
  if (answer.matched === 0) return <NoServerTiming streams={answer.streams} />;
  const options = (["p50", "p95"] as const).map((value) => ({ value, label: value }));
  return (
    <Figure
      chart="compare"
      title={TITLE}
      meaning={METRIC_LABELS.overhead.meaning}
      caption={compareCaption(answer, which)}
      aside={
        <SegmentedControl
          legend="Percentile"
          name="percentile"
          options={options}
          chosen={which}
          onChoose={(value) => (percentile.value = value)}
        />
      }
      table={{
        columns: [
          "Time",
          "n",
          "Browser p50",
          "Server p50",
          "Overhead p50",
          "Browser p95",
          "Server p95",
          "Overhead p95",
          ...(answer.earlier ? EARLIER.map(({ label }) => label) : []),
        ],
        rows: () => tableRows(answer, to),
      }}
    >
      <Legend
        entries={[
          { label: "browser", colour: "client" },
          { label: "server", colour: "server" },
          { label: "network overhead", colour: "overhead" },
          ...(answer.earlier ? earlierOf(which) : []),
          { label: "streams with both", colour: "volume" },
        ]}
      />
      <div class="plot-frame">
        <LineChart
          spec={spec}
          label={`Time to first token in the browser and on the server, and the network overhead, ${which}`}
          readout={(index) => readoutOf(answer, which, index, to)}
          onBrush={zoomTo}
        />
      </div>
      <OverheadFacts answer={answer} />
    </Figure>
  );
}

function OverheadFacts({ answer }: { answer: CompareAnswer }) {
  const { overhead, matched, streams, sources } = answer;
  const from = Object.entries(sources).sort(([, a], [, b]) => b - a);
  const isFew = overhead.n < MIN_SAMPLES;
  return (
    <dl class="facts">
      <div>
        <dt>Network overhead</dt>
        <dd class={isFew ? "dim" : undefined}>
          <span class="source">
            {duration(overhead.p50_ms)} <small>p50</small>
          </span>
          <span class="source">
            {duration(overhead.p95_ms)} <small>p95{isFew && ` (n = ${count(overhead.n)})`}</small>
          </span>
        </dd>
      </div>
      <div>
        <dt>Streams with server timing</dt>
        <dd>
          {percent(streams > 0 ? matched / streams : null)}{" "}
          <small>
            ({count(matched)} of {count(streams)})
          </small>
        </dd>
      </div>
      <div>
        <dt>Source</dt>
        <dd>
          {from.map(([source, n]) => (
            <span key={source} class="source">
              {sourceLabel(source)} <small>{count(n)}</small>
            </span>
          ))}
        </dd>
      </div>
    </dl>
  );
}

function NoServerTiming({ streams }: { streams: number }) {
  return (
    <Figure
      chart="compare"
      title={TITLE}
      caption={
        streams === 0
          ? "No streams in this time range."
          : `0 of ${plural(streams, "stream")} include server timing.`
      }
    >
      <div class="advice">
        <p>
          No stream carries server timing. llama.cpp and Ollama send it. Any other server writes a comment into its
          stream:
        </p>
        <pre>
          <code>: llm-rum {'{"ttft_ms":85.2}'}</code>
        </pre>
        <p>Middleware for Python, Node and Rust does that.</p>
      </div>
    </Figure>
  );
}

const earlierOf = (which: Percentile) =>
  [
    { label: `earlier browser ${which}`, key: `client_${which}_ms`, colour: "earlier-p50" },
    { label: `earlier server ${which}`, key: `server_${which}_ms`, colour: "earlier-p95" },
    { label: `earlier overhead ${which}`, key: `overhead_${which}_ms`, colour: "earlier-overhead" },
  ] as const satisfies readonly EarlierLine<string>[];

/** Columns of the table. */
const EARLIER = [...earlierOf("p50"), ...earlierOf("p95")];

function plotOf(answer: CompareAnswer, percentile: Percentile, from: number, to: number): PlotSpec {
  const { points, step_ms: step } = answer;
  // The overhead is a line of its own, because a difference of percentiles is not a percentile of the differences.
  const line = (who: "client" | "server" | "overhead") => ({
    label: who,
    colour: `--${who}`,
    values: points.map((point) => point[`${who}_${percentile}_ms`] ?? null),
    width: 1.75,
  });
  return {
    times: points.map((point) => point.timestamp_ms + step / 2),
    from,
    to: Math.max(to, (points.at(-1)?.timestamp_ms ?? 0) + step),
    scale: "linear",
    lines: [...earlierLines(answer.earlier, earlierOf(percentile)), line("client"), line("server"), line("overhead")],
    targets: [],
    isLowSample: points.map((point) => hasFewSamples(point.n)),
    volume: { streams: points.map(({ n }) => n ?? null), errors: points.map(() => 0), isRunning: false },
    format: tickDuration,
  };
}

function readoutOf(
  { points, earlier, step_ms }: CompareAnswer,
  which: Percentile,
  index: number,
  today: number,
): Readout | null {
  const point = points[index];
  if (!point) return null;
  return {
    heading: timeInterval(point.timestamp_ms, step_ms, today),
    values: [
      { label: `browser ${which}`, text: columnDuration(point[`client_${which}_ms`]), colour: "client" },
      { label: `server ${which}`, text: columnDuration(point[`server_${which}_ms`]), colour: "server" },
      { label: `overhead ${which}`, text: columnDuration(point[`overhead_${which}_ms`]), colour: "overhead" },
      ...earlierReadout(earlier?.[index], earlierOf(which), columnDuration),
      { label: "samples", text: point.n === 0 ? "none" : count(point.n) },
    ],
  };
}

function tableRows({ points, earlier }: CompareAnswer, today: number): string[][] {
  return points
    .map((point, at) => [
      dateTime(point.timestamp_ms, today),
      count(point.n),
      columnDuration(point.client_p50_ms),
      columnDuration(point.server_p50_ms),
      columnDuration(point.overhead_p50_ms),
      columnDuration(point.client_p95_ms),
      columnDuration(point.server_p95_ms),
      columnDuration(point.overhead_p95_ms),
      ...(earlier ? EARLIER.map(({ key }) => columnDuration(earlier[at]?.[key])) : []),
    ])
    .reverse();
}
