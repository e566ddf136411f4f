/** Line chart on a canvas. This file alone imports uPlot. */
import uPlot from "uplot";

import { canvasColour } from "../theme";
import { MIN_BRUSH_PX } from "./brush";
import { markers } from "./markers";
import { isolatedPoints, LOG_AXIS_MIN, plotColumns, type Volume } from "./plot-columns";
import { linearTicks, logLimits, logTicks, timeLabel, timeTicks } from "./ticks";

export interface Line {
  label: string;
  /** Name of the CSS colour variable. */
  colour: string;
  values: (number | null)[];
  width: number;
  dash?: number[];
  /** Replaces that of the plot, for a line with samples of its own. */
  isLowSample?: boolean[];
}

/** A target as a horizontal line. */
export interface TargetLine {
  label: string;
  /** Label for narrow plots. */
  short: string;
  colour: string;
  value: number;
}

export interface PlotSpec {
  /** Unix milliseconds, the middle of each step. */
  times: number[];
  from: number;
  to: number;
  scale: "log" | "linear";
  lines: Line[];
  targets: TargetLine[];
  /** Times to mark, with a label that appears if it fits. */
  stretches?: { from: number; to: number; label: string }[];
  /** Points with few samples: drawn dashed and with a ring. */
  isLowSample: boolean[];
  /** Streams and failed streams as bars at the bottom. */
  volume?: Volume;
  format: (value: number) => string;
}

export interface PlotEvents {
  onCursor: (index: number | null, left: number) => void;
  /** The user dragged over these times, in Unix milliseconds. */
  onBrush: (from: number, to: number) => void;
}

/** A plot in `host` until it is destroyed. It keeps its cursor on an update with data of the same shape. */
export class Plot {
  private chart: uPlot;
  private readonly observer: ResizeObserver;

  constructor(
    private readonly host: HTMLElement,
    private spec: PlotSpec,
    private readonly events: PlotEvents,
  ) {
    this.chart = this.draw();
    this.observer = new ResizeObserver(() => this.fit());
    this.observer.observe(host);
  }

  update(spec: PlotSpec): void {
    const sameShape =
      spec.lines.length === this.spec.lines.length &&
      Boolean(spec.volume) === Boolean(this.spec.volume) &&
      spec.scale === this.spec.scale;
    this.spec = spec;
    if (sameShape) {
      this.chart.setData(plotColumns(spec) as uPlot.AlignedData);
      return;
    }
    this.chart.destroy();
    this.chart = this.draw();
  }

  /** Redraws with the current theme and time zone. The paths of bars contain their colour, so they are built again. */
  redraw(): void {
    this.chart.redraw(true, true);
  }

  /** Moves the cursor by whole points, for the keyboard. */
  moveCursor(by: number): void {
    const { left } = this.chart.cursor;
    const last = this.spec.times.length - 1;
    const at = left === undefined || left < 0 ? last : clamp(this.chart.posToIdx(left) + by, 0, last);
    const time = this.spec.times[at];
    if (time !== undefined) this.chart.setCursor({ left: this.chart.valToPos(time / 1000, "x"), top: 0 });
  }

  hideCursor(): void {
    this.chart.setCursor({ left: -10, top: -10 });
  }

  destroy(): void {
    this.observer.disconnect();
    this.chart.destroy();
  }

  private draw(): uPlot {
    const options = this.options();
    return new uPlot(options, plotColumns(this.spec) as uPlot.AlignedData, this.host);
  }

  private fit(): void {
    const { clientWidth: width, clientHeight: height } = this.host;
    if (width > 0 && (width !== this.chart.width || height !== this.chart.height))
      this.chart.setSize({ width, height });
  }

  private options(): uPlot.Options {
    return {
      width: Math.max(this.host.clientWidth, 200),
      height: Math.max(this.host.clientHeight, 160),
      padding: [12, (chart) => this.gutter(chart), 0, 0],
      legend: { show: false },
      cursor: {
        y: false,
        // A drag stays in its own plot: it selects times once.
        sync: { key: "time", scales: ["x", null], filters: { pub: (type) => type === "mousemove" || type === "mouseleave" } },
        drag: { x: true, y: false, setScale: false, dist: MIN_BRUSH_PX },
        points: {
          size: 7,
          width: 1.5,
          fill: (_, i) => (this.isBar(i) ? "transparent" : canvasColour("--surface")),
          stroke: (_, i) =>
            this.isBar(i) ? "transparent" : canvasColour(this.lineColours()[i - this.firstLine()] ?? "--ink"),
        },
      },
      scales: {
        x: { time: true, range: () => [this.spec.from / 1000, this.spec.to / 1000] },
        y:
          this.spec.scale === "log"
            ? { distr: 3, log: 10, range: () => this.limits() }
            : { range: () => this.limits() },
        volume: { range: () => [0, Math.max(1, ...(this.spec.volume?.streams ?? []).map(Number)) * VOLUME_DIVISOR] },
      },
      axes: [this.timeAxis(), this.valueAxis()],
      series: [{}, ...this.volumeSeries(), ...this.lineSeries()],
      hooks: {
        drawClear: [(chart) => this.drawStretches(chart)],
        draw: [(chart) => this.drawTargets(chart), drawMarkers],
        setCursor: [(chart) => this.events.onCursor(chart.cursor.idx ?? null, chart.cursor.left ?? -1)],
        setSelect: [(chart) => this.brushed(chart)],
      },
    };
  }

  private brushed(chart: uPlot): void {
    const { left, width } = chart.select;
    if (width === 0) return;
    const [from, to] = [left, left + width].map((x) => 1000 * chart.posToVal(x, "x"));
    chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    if (from !== undefined && to !== undefined) this.events.onBrush(from, to);
  }

  /** Space for the labels of targets at the right. */
  private gutter({ ctx }: uPlot): number {
    if (this.spec.targets.length === 0) return 8;
    ctx.save();
    ctx.font = this.labelFont(1);
    const widths = this.spec.targets.map((target) => ctx.measureText(this.labelOf(target)).width);
    ctx.restore();
    return Math.ceil(LABEL_GAP + Math.max(...widths)) + 1;
  }

  private labelOf({ label, short }: TargetLine): string {
    return this.isNarrow() ? short : label;
  }

  private labelFont(ratio: number): string {
    return `${11 * ratio}px ${getComputedStyle(this.host).fontFamily}`;
  }

  private isNarrow(): boolean {
    return this.host.clientWidth < 560;
  }

  private limits(): [number, number] {
    const values = this.spec.lines.flatMap((line) =>
      line.values.filter((value): value is number => value !== null),
    );
    const shown = [...values, ...this.spec.targets.map((target) => target.value)];
    if (this.spec.scale === "log") {
      const [low, high] = logLimits(shown.map((value) => Math.max(value, LOG_AXIS_MIN)));
      // Keeps the lines above the bars: one fifth of the height is a quarter of the rest.
      return [this.spec.volume ? low * (low / high) ** (1 / (VOLUME_DIVISOR - 1)) : low, high];
    }
    const high = Math.max(1, ...shown) * 1.12;
    return [this.spec.volume ? -high / (VOLUME_DIVISOR - 1) : 0, high];
  }

  /** The lowest value of a log axis above the bars. */
  private lowestTick(low: number, high: number): number {
    return this.spec.volume ? low * (high / low) ** (1 / VOLUME_DIVISOR) * 0.99 : low;
  }

  private timeAxis(): uPlot.Axis {
    const maxTicks = (chart: uPlot) => Math.max(2, Math.floor(chart.width / 96));
    let step = 0;
    return {
      ...this.axisStyle(),
      size: 32,
      splits: (chart, _axis, low, high) => {
        const { ticks, step: timeStep } = timeTicks(low * 1000, high * 1000, maxTicks(chart));
        step = timeStep;
        // A label closer to the end than half its width would be cut off.
        const end = high * 1000 - ((high - low) * 1000 * 20) / Math.max(1, chart.width - 64);
        return ticks.filter((tick) => tick < end).map((tick) => tick / 1000);
      },
      values: (_, splits) => splits.map((tick) => timeLabel(tick * 1000, step)),
      grid: { show: false },
    };
  }

  private valueAxis(): uPlot.Axis {
    return {
      ...this.axisStyle(),
      size: 64,
      splits: (chart, _axis, low, high) =>
        this.spec.scale === "log"
          ? logTicks(this.lowestTick(low, high), high, Math.max(3, Math.floor(chart.height / 36)))
          : linearTicks(high, 5),
      filter: (_, splits) => splits,
      values: (_, splits) => splits.map((tick) => this.spec.format(tick)),
    };
  }

  private axisStyle(): uPlot.Axis {
    return {
      stroke: () => canvasColour("--muted"),
      font: `12px ${getComputedStyle(this.host).fontFamily}`,
      gap: 8,
      ticks: { show: false },
      grid: { stroke: () => canvasColour("--line"), width: 1 },
    };
  }

  /** Columns: the times, three for the bars if there is a volume, then two for each line. */
  private firstLine(): number {
    return this.spec.volume ? 4 : 1;
  }

  private isBar(column: number): boolean {
    return column < this.firstLine();
  }

  private lineColours(): string[] {
    return this.spec.lines.flatMap(({ colour }) => [colour, colour]);
  }

  private volumeSeries(): uPlot.Series[] {
    if (!this.spec.volume) return [];
    const bars = uPlot.paths.bars?.({ size: [0.72, 24], gap: 1 });
    const barSeries = (label: string, colour: string, isHollow = false): uPlot.Series => ({
      label,
      scale: "volume",
      paths: bars,
      width: isHollow ? 1 : 0,
      stroke: () => canvasColour(colour),
      points: { show: false },
      fill: () => (isHollow ? "transparent" : canvasColour(colour)),
    });
    return [
      barSeries("streams", "--volume"),
      barSeries("streams (incomplete)", "--edge", true),
      barSeries("errors", "--bad"),
    ];
  }

  private lineSeries(): uPlot.Series[] {
    return this.spec.lines.flatMap((line, index) => {
      const stroke = () => canvasColour(line.colour);
      const common = { label: line.label, scale: "y", stroke, width: line.width };
      const solid: uPlot.Series = {
        ...common,
        dash: line.dash,
        points: {
          size: 6,
          width: 0,
          fill: stroke,
          filter: (chart, at) => isolatedPoints(chart.data[at] as (number | null)[]),
        },
      };
      const dashed: uPlot.Series = {
        ...common,
        dash: line.dash ?? [5, 4],
        points: {
          size: 5,
          width: 1.25,
          stroke,
          fill: () => canvasColour("--surface"),
          filter: () => this.ringedPoints(index),
        },
      };
      return [solid, dashed];
    });
  }

  /** Points with few samples get a ring if there is space. On a crowded plot only the dashes mark them. */
  private ringedPoints(line: number): number[] {
    const { times, lines } = this.spec;
    const isLowSample = lines[line]?.isLowSample ?? this.spec.isLowSample;
    const spacing = this.chart ? this.chart.width / Math.max(1, times.length) : 8;
    const values = lines[line]?.values ?? [];
    const isolated = new Set(isolatedPoints(values));
    return [...values.keys()].filter(
      (i) => values[i] !== null && isLowSample[i] && (spacing >= MIN_RING_SPACING_PX || isolated.has(i)),
    );
  }

  /** Behind the lines: a wash over the times, a bar above it and the label. */
  private drawStretches(chart: uPlot): void {
    const { ctx, bbox } = chart;
    const ratio = devicePixelRatio;
    ctx.save();
    ctx.font = this.labelFont(ratio);
    ctx.textBaseline = "top";
    ctx.fillStyle = canvasColour("--bad");
    for (const { from, to, label } of this.spec.stretches ?? []) {
      const left = Math.max(bbox.left, chart.valToPos(from / 1000, "x", true));
      const right = Math.min(bbox.left + bbox.width, chart.valToPos(to / 1000, "x", true));
      ctx.globalAlpha = 0.08;
      ctx.fillRect(left, bbox.top, right - left, bbox.height);
      ctx.globalAlpha = 1;
      ctx.fillRect(left, bbox.top, right - left, 2 * ratio);
      const inset = 4 * ratio;
      if (ctx.measureText(label).width + 2 * inset <= right - left) ctx.fillText(label, left + inset, bbox.top + inset);
    }
    ctx.restore();
  }

  private drawTargets(chart: uPlot): void {
    const { ctx, bbox } = chart;
    const ratio = devicePixelRatio;
    ctx.save();
    ctx.font = this.labelFont(ratio);
    ctx.textAlign = "left";
    ctx.textBaseline = "middle";
    ctx.lineWidth = ratio;
    ctx.setLineDash([6 * ratio, 4 * ratio]);
    for (const target of this.spec.targets) {
      const y = Math.round(chart.valToPos(target.value, "y", true)) + 0.5;
      if (y < bbox.top || y > bbox.top + bbox.height) continue;
      ctx.strokeStyle = ctx.fillStyle = canvasColour(target.colour);
      ctx.globalAlpha = 0.7;
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
      ctx.globalAlpha = 1;
      ctx.fillText(this.labelOf(target), bbox.left + bbox.width + LABEL_GAP * ratio, y);
    }
    ctx.restore();
  }
}

/** A line at each event, and its label if it fits before the next one. */
function drawMarkers(chart: uPlot): void {
  const { ctx, bbox } = chart;
  const ratio = devicePixelRatio;
  const shown = markers
    .peek()
    .map(({ at, label }) => ({ x: Math.round(chart.valToPos(at / 1000, "x", true)), label }))
    .filter(({ x }) => x >= bbox.left && x <= bbox.left + bbox.width)
    .sort((one, other) => one.x - other.x);
  ctx.save();
  ctx.font = `${11 * ratio}px ${getComputedStyle(chart.root).fontFamily}`;
  ctx.textBaseline = "bottom";
  ctx.strokeStyle = ctx.fillStyle = canvasColour("--muted");
  ctx.lineWidth = ratio;
  shown.forEach(({ x, label }, index) => {
    ctx.beginPath();
    ctx.moveTo(x + 0.5, bbox.top);
    ctx.lineTo(x + 0.5, bbox.top + bbox.height);
    ctx.stroke();
    const end = shown[index + 1]?.x ?? bbox.left + bbox.width;
    const inset = 4 * ratio;
    if (ctx.measureText(label).width + 2 * inset <= end - x) ctx.fillText(label, x + inset, bbox.top + bbox.height);
  });
  ctx.restore();
}

/** Between the plot and the label of a target. */
const LABEL_GAP = 8;

/** Minimum distance of two rings. */
const MIN_RING_SPACING_PX = 18;

/** Volume bars take one fifth of the height. */
const VOLUME_DIVISOR = 5;

function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high);
}
