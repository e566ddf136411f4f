/** Share of users who abandon within each wait, with the number of streams still waiting. */
import { useState } from "preact/hooks";

import type { Abandonment, AbandonmentPoint, HistogramAnswer } from "../api/api-types";
import type { Result } from "../api/async-result";
import { GLOSSARY } from "../api/glossary";
import { placeMarks, type Mark } from "../charts/bars";
import { Figure, Loaded } from "../charts/figure";
import { linearTicks, logTicks } from "../charts/ticks";
import { configuredPercent, count, duration, isKnown, percent, shortCount, tickDuration } from "../format";
import { QUANTILES } from "../metric";
import { useWidth } from "../ui/width";
import {
  abandonmentCaption,
  bandPath,
  pointAt,
  stepPath,
  topShare,
  trustedPoints,
  unreadCaption,
  type Scale,
} from "./abandonment-curve";

const TITLE = "Abandonment: users who gave up before the first token";

interface AbandonmentProps {
  result: Result<Abandonment>;
  /** Can be of another metric than the curve. */
  histogram: HistogramAnswer;
}

export function AbandonmentPanel({ result, histogram }: AbandonmentProps) {
  return (
    <div class="abandonment">
      <Loaded chart="abandonment" title={TITLE} result={result}>
        {(answer) => <AbandonmentFigure answer={answer} histogram={histogram} />}
      </Loaded>
    </div>
  );
}

function AbandonmentFigure({ answer, histogram }: { answer: Abandonment; histogram: HistogramAnswer }) {
  const points = trustedPoints(answer);
  const columns = ["Wait", "Abandoned", "95 % CI, lower", "95 % CI, upper", "Still waiting"];
  return (
    <Figure
      chart="abandonment"
      title={TITLE}
      meaning={GLOSSARY.abandonment}
      caption={`${abandonmentCaption(answer)} ${unreadCaption(answer)}`}
      {...(answer.abandoned > 0 && { table: { columns, rows: () => tableRows(answer) } })}
    >
      {answer.abandoned > 0 && points.length > 0 && (
        <Curve answer={answer} points={points} marks={marksOf(answer, histogram)} />
      )}
      {answer.abandoned > 0 && points.length === 0 && <p class="nothing">Too few waits for a curve.</p>}
    </Figure>
  );
}

/** Percentiles of the wait, to show which part of the curve matters. */
function marksOf({ metric, points }: Abandonment, histogram: HistogramAnswer): Mark[] {
  if (histogram.metric !== metric) return [];
  const longest = points.at(-1)?.wait_ms ?? 0;
  return QUANTILES.flatMap(({ name, key, colour }): Mark[] => {
    const value = histogram[key];
    const isInside = isKnown(value) && value < longest;
    return isInside ? [{ label: `${name} ${duration(value)}`, value, tone: colour, kind: "percentile" }] : [];
  });
}

const LEFT = 72;
const RIGHT = 8;
const LANE = 16;
const HEAD = 2 * LANE;
const FOOT = 44;
const HEIGHT = 256;

interface CurveProps {
  answer: Abandonment;
  points: AbandonmentPoint[];
  marks: Mark[];
}

function Curve({ answer, points, marks }: CurveProps) {
  const [host, width] = useWidth<HTMLDivElement>(1000);
  const [hoveredMs, setHoveredMs] = useState<number | null>(null);
  const [low, high] = waitLimits(points);
  const logSpan = Math.log(high / low);
  const maxShare = topShare(points);
  const right = width - RIGHT;
  const bottom = HEIGHT - FOOT;
  const scale: Scale = {
    x: (waitMs) => LEFT + (Math.log(Math.max(waitMs, low) / low) / logSpan) * (right - LEFT),
    y: (share) => bottom - (share / maxShare) * (bottom - HEAD),
  };
  const ticks = logTicks(low, high, Math.max(3, Math.floor((width - LEFT) / 72)));
  const inside = marks.filter(({ value }) => value >= low && value <= high);
  const shown = hoveredMs === null ? undefined : pointAt(points, hoveredMs);
  const onMove = (event: MouseEvent) => {
    const at = event.clientX - (event.currentTarget as Element).getBoundingClientRect().left;
    setHoveredMs(low * Math.exp(((at - LEFT) / (right - LEFT)) * logSpan));
  };
  return (
    <div class="bars curve" ref={host} onMouseMove={onMove} onMouseLeave={() => setHoveredMs(null)}>
      <svg width={width} height={HEIGHT} role="img" aria-label={`Curve over the wait. ${abandonmentCaption(answer)}`}>
        {linearTicks(maxShare, 4).map((tick) => (
          <g key={tick} class="grid">
            <line x1={LEFT} x2={right} y1={scale.y(tick) + 0.5} y2={scale.y(tick) + 0.5} />
            <text x={LEFT - 8} y={scale.y(tick)} class="tick end">
              {configuredPercent(tick)}
            </text>
          </g>
        ))}
        <path class="band" d={bandPath(points, scale)} />
        <path class="step" d={stepPath(points, scale, LEFT)} />
        <line class="axis" x1={LEFT} x2={right} y1={bottom + 0.5} y2={bottom + 0.5} />
        <text class="tick end" x={LEFT - 24} y={bottom + 34}>
          waiting
        </text>
        {ticks.map((tick) => (
          <g key={tick}>
            <text class="tick middle" x={scale.x(tick)} y={bottom + 16}>
              {tickDuration(tick)}
            </text>
            <text class="tick middle" x={scale.x(tick)} y={bottom + 34}>
              {shortCount(pointAt(points, tick)?.at_risk ?? answer.at_risk)}
            </text>
          </g>
        ))}
        {placeMarks(inside, scale.x, LEFT, right).map((mark) => (
          <g key={mark.label} class={`mark ${mark.kind} ${mark.tone}`}>
            <line x1={mark.x} x2={mark.x} y1={LANE * mark.lane} y2={bottom} />
            <text
              class={mark.flips ? "end" : ""}
              x={mark.x + (mark.flips ? -5 : 5)}
              y={LANE * mark.lane + 9}
            >
              {mark.label}
            </text>
          </g>
        ))}
      </svg>
      <p class="bars-over" aria-hidden="true">
        {shown && pointText(shown)}
      </p>
    </div>
  );
}

/** The axis starts shortly before the first abandonment. */
function waitLimits(points: AbandonmentPoint[]): [number, number] {
  const first = points.find(({ share }) => share > 0)?.wait_ms ?? 100;
  return [first / 2, Math.max(points.at(-1)?.wait_ms ?? 0, first * 2)];
}

function pointText({ wait_ms, share, lower, upper, at_risk }: AbandonmentPoint): string {
  const interval = isKnown(lower) && isKnown(upper) ? ` (95\u00a0% CI ${percent(lower)} – ${percent(upper)})` : "";
  return `After ${duration(wait_ms)}: ${percent(share)} gave up${interval}, ${count(at_risk)} still waiting`;
}

function tableRows({ points }: Abandonment): string[][] {
  return points.map(({ wait_ms, share, lower, upper, at_risk }) => [
    duration(wait_ms),
    percent(share),
    percent(lower),
    percent(upper),
    count(at_risk),
  ]);
}
