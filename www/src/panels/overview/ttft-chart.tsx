/** A metric over time: its percentiles with targets and volume, or a heatmap. */
import { useMemo } from "preact/hooks";

import type { Heatmap as HeatmapAnswer, SeriesPoint, Timeseries } from "../../api/api-types";
import type { Result } from "../../api/async-result";
import { METRIC_LABELS, type Metric } from "../../api/metrics";
import { isRunning, type Range } from "../../api/range";
import {
  COMPARISON_LABELS,
  exceedsError,
  heatmapCaption,
  lowSampleCaption,
  rangeLabel,
  stepLabel,
  stretchesOf,
  timeseriesCaption,
  useCaseTargetsCaption,
} from "../../charts/chart-captions";
import { earlierLines, earlierReadout, type EarlierLine } from "../../charts/earlier";
import { Answered, Figure } from "../../charts/figure";
import { HeatLegend, Heatmap } from "../../charts/heatmap";
import { Legend, LineChart, type Readout } from "../../charts/line-chart";
import type { Line, PlotSpec } from "../../charts/plot";
import { timesOf } from "../../charts/time-figure";
import { columnDuration, count, dateTime, duration, tickDuration, timeInterval } from "../../format";
import { DURATION_METRICS, hasFewSamples, isWaitMetric, MIN_SAMPLES, QUANTILES, targetsOf } from "../../metric";
import { shorterRange } from "../../polling/resolution";
import { setChartType, setCompareTo, setMetric, setRange, zoomTo } from "../../state";
import { SegmentedControl } from "../../ui/segmented-control";
import { ERRORS } from "../../ui/outcome";
import { CHART_TYPES, COMPARISONS, type ChartType, type CompareTo } from "../../url";

interface TtftChartProps {
  series: Timeseries;
  heatmap: Result<HeatmapAnswer> | null;
  range: Range;
  metric: Metric;
  chartType: ChartType;
  compareTo: CompareTo | null;
  /** Number of use cases in view. */
  useCases: number;
}

export function TtftChart({ series, heatmap, range, metric, chartType, compareTo, useCases }: TtftChartProps) {
  const labels = METRIC_LABELS[series.metric];
  const isEmpty = series.points.every((point) => !point.n);
  const captions = [
    timeseriesCaption(series, range),
    useCaseTargetsCaption(series.metric, useCases),
    `Source: ${labels.source}.`,
  ];
  const caption = captions.filter(Boolean).join(" ");
  const label = `${labels.title} in ${rangeLabel(range)}`;
  return (
    <Figure
      chart="ttft"
      title={`${labels.title} over time`}
      meaning={labels.meaning}
      caption={`${caption} ${chartType === "lines" ? lowSampleCaption(series) : heatmapCaption(compareTo)}`}
      aside={<Switches metric={metric} chartType={chartType} compareTo={compareTo} />}
      table={{
        columns: [
          ...["Time", "n", "p50", "p95", "p99", "Streams", "Errors"],
          ...(isWaitMetric(series.metric) ? [KM_ADJUSTED_LABEL, "Abandoned"] : []),
          ...(series.earlier ? EARLIER.map(({ label }) => label) : []),
        ],
        rows: () => tableRows(series),
      }}
    >
      {chartType === "heatmap" && heatmap && !isEmpty ? (
        <Answered result={heatmap}>
          {(answer) => (
            <>
              <div class="legend-row">
                <HeatLegend answer={answer} />
                <ZoomButton series={series} range={range} />
              </div>
              <Heatmap answer={answer} label={`${label}: heatmap of the samples`} onBrush={zoomTo} />
            </>
          )}
        </Answered>
      ) : (
        <Lines series={series} range={range} label={`${label}: p50, p95 and p99`} isEmpty={isEmpty} />
      )}
    </Figure>
  );
}

interface LinesProps {
  series: Timeseries;
  range: Range;
  label: string;
  isEmpty: boolean;
}

function Lines({ series, range, label, isEmpty }: LinesProps) {
  const hasRunning = isRunning(range, Date.now());
  const spec = useMemo(() => plotOf(series, hasRunning), [series, hasRunning]);
  return (
    <>
      <div class="legend-row">
        <Legend
          entries={[
            ...QUANTILES.map(({ name, colour }) => ({ label: name, colour })),
            ...(hasKmAdjusted(series) ? [{ label: KM_ADJUSTED_LABEL, colour: "km-adjusted" }] : []),
            ...(series.earlier ? EARLIER : []),
            ...(spec.isLowSample.includes(true) ? [{ label: `under ${MIN_SAMPLES} samples`, colour: "thin" }] : []),
            ...(spec.stretches?.length ? [{ label: "p95 above its target", colour: "above" }] : []),
            ...(spec.targets.length > 0 ? [{ label: "target", colour: "target" }] : []),
            { label: "streams", colour: "volume" },
            ...(hasRunning ? [{ label: "current interval (incomplete)", colour: "running" }] : []),
            { label: "errors", colour: "errors", only: ["outcome", ERRORS] },
          ]}
        />
        <ZoomButton series={series} range={range} />
      </div>
      <div class="plot-frame tall">
        <LineChart
          key={series.metric}
          spec={spec}
          label={label}
          readout={(index) => readoutOf(series, index, hasRunning)}
          onBrush={zoomTo}
        />
        {isEmpty && (
          <p class="plot-note">
            No samples of this metric in {rangeLabel(range)}. {METRIC_LABELS[series.metric].requirement}
          </p>
        )}
      </div>
    </>
  );
}

/** Offers the shorter range that contains all samples. */
function ZoomButton({ series: { from, to, points }, range }: { series: Timeseries; range: Range }) {
  const zoomRange = shorterRange(range, from, to, points);
  if (!zoomRange) return null;
  return (
    <button type="button" class="narrow hint" onClick={() => setRange(zoomRange)}>
      Zoom to {rangeLabel(zoomRange)}
    </button>
  );
}

const METRIC_OPTIONS = DURATION_METRICS.map((value) => ({
  value,
  label: METRIC_LABELS[value].short,
  title: METRIC_LABELS[value].meaning,
}));
const CHART_OPTIONS = CHART_TYPES.map((value) => ({ value, label: value }));

function Switches({ metric, chartType, compareTo }: Pick<TtftChartProps, "metric" | "chartType" | "compareTo">) {
  return (
    <div class="switches">
      <SegmentedControl legend="Metric" name="metric" options={METRIC_OPTIONS} chosen={metric} onChoose={setMetric} />
      <SegmentedControl
        legend="Chart"
        name="drawing"
        options={CHART_OPTIONS}
        chosen={chartType}
        onChoose={setChartType}
      />
      <label class="select">
        <span>Compare with</span>
        <select
          value={compareTo ?? ""}
          data-compare-to
          onChange={(event) => setCompareTo((event.currentTarget.value || null) as CompareTo | null)}
        >
          <option value="">nothing</option>
          {COMPARISONS.map((period) => (
            <option key={period} value={period}>
              {COMPARISON_LABELS[period]}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

/** Whether a censored wait changes the p95 of any step visibly. */
function hasKmAdjusted({ points }: Timeseries): boolean {
  return points.some(({ p95_ms: plain, km_adjusted: adjusted }) => adjusted && exceedsError(plain, adjusted.p95_ms));
}

function kmAdjustedLine(series: Timeseries): Line[] {
  if (!hasKmAdjusted(series)) return [];
  const values = series.points.map(({ km_adjusted: adjusted }) => adjusted?.p95_ms ?? null);
  return [{ label: KM_ADJUSTED_LABEL, colour: "--p95", values, width: 1.5, dash: [1.5, 3] }];
}

const EARLIER: readonly EarlierLine<"p50_ms" | "p95_ms">[] = [
  { label: "earlier p50", key: "p50_ms", colour: "earlier-p50" },
  { label: "earlier p95", key: "p95_ms", colour: "earlier-p95" },
];

function plotOf(series: Timeseries, hasRunning: boolean): PlotSpec {
  const { points } = series;
  return {
    ...timesOf(series),
    scale: "log",
    lines: [
      ...earlierLines(series.earlier, EARLIER),
      ...QUANTILES.map(({ name, key, colour }) => ({
        label: name,
        colour: `--${colour}`,
        values: points.map((point) => point[key] ?? null),
        width: name === "p95" ? 2 : 1.5,
      })),
      ...kmAdjustedLine(series),
    ],
    targets: targetsOf(series.metric, series.targets).map(({ quantile, value }) => ({
      label: `${quantile ?? "each"} ≤ ${duration(value)}`,
      short: `≤ ${duration(value)}`,
      colour: quantile ? `--${quantile}` : "--muted",
      value,
    })),
    stretches: stretchesOf(series).map((one) => ({ ...one, label: `${stepLabel(one.to - one.from)} above` })),
    isLowSample: points.map((point) => hasFewSamples(point.n)),
    volume: {
      streams: points.map((point) => point.streams ?? null),
      errors: points.map((point) => point.errors ?? null),
      isRunning: hasRunning,
    },
    format: tickDuration,
  };
}

function readoutOf(series: Timeseries, index: number, hasRunning: boolean): Readout | null {
  const point = series.points[index];
  const isUnfinished = hasRunning && index === series.points.length - 1;
  if (!point) return null;
  return {
    heading: timeInterval(point.timestamp_ms, series.step_ms, series.to),
    values: [
      ...QUANTILES.map(({ name, key, colour }) => ({
        label: name,
        text: columnDuration(point[key]),
        colour,
      })),
      ...kmAdjustedReadout(point),
      ...earlierReadout(series.earlier?.[index], EARLIER, columnDuration),
      { label: "samples", text: point.n === 0 ? "none" : count(point.n) },
      { label: isUnfinished ? "streams (incomplete)" : "streams", text: count(point.streams) },
      { label: "errors", text: count(point.errors) },
    ],
  };
}

function kmAdjustedReadout({ km_adjusted: adjusted }: SeriesPoint): Readout["values"] {
  if (!adjusted || adjusted.abandoned + adjusted.failed_before === 0) return [];
  return [
    { label: KM_ADJUSTED_LABEL, text: columnDuration(adjusted.p95_ms) },
    { label: "abandoned before first token", text: count(adjusted.abandoned) },
  ];
}

/** Label in the legend, the tooltip and the table. */
const KM_ADJUSTED_LABEL = "p95 incl. abandoned";

function tableRows({ points, earlier, to, metric }: Timeseries): string[][] {
  const cells = (point: SeriesPoint, at: number) => [
    dateTime(point.timestamp_ms, to),
    count(point.n),
    ...QUANTILES.map(({ key }) => columnDuration(point[key])),
    count(point.streams),
    count(point.errors),
    ...(isWaitMetric(metric) ? [columnDuration(point.km_adjusted?.p95_ms), count(point.km_adjusted?.abandoned)] : []),
    ...(earlier ? EARLIER.map(({ key }) => columnDuration(earlier[at]?.[key])) : []),
  ];
  return points.map(cells).reverse();
}
