/** A plot with a tooltip at the cursor. Arrow keys move the cursor. Dragging over it selects its times. */
import { effect } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import type { Dimension } from "../api/api-types";
import { isOnly, toggleOnly } from "../state";
import { shownTheme } from "../theme";
import { timeZone } from "../time-zone";
import { markers } from "./markers";
import { Plot, type PlotSpec } from "./plot";

/** Content of the tooltip: a heading and named values. */
export interface Readout {
  heading: string;
  values: { label: string; text: string; colour?: string }[];
}

interface LineChartProps {
  spec: PlotSpec;
  label: string;
  readout: (index: number) => Readout | null;
  /** Receives the selected times. */
  onBrush: (from: number, to: number) => void;
}

export function LineChart({ spec, label, readout, onBrush }: LineChartProps) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | null>(null);
  const tip = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState<{ index: number; left: number } | null>(null);

  useLayoutEffect(() => {
    if (!host.current) return undefined;
    plot.current = new Plot(host.current, spec, {
      onCursor: (index, left) => setAt(index === null || left < 0 ? null : { index, left }),
      onBrush,
    });
    return () => plot.current?.destroy();
  }, []);
  useEffect(() => plot.current?.update(spec), [spec]);
  // An effect outside of the render, because printing triggers no render.
  useEffect(
    () =>
      effect(() => {
        if (shownTheme.value && timeZone.value && markers.value) plot.current?.redraw();
      }),
    [],
  );

  const shown = at && readout(at.index);
  useLayoutEffect(() => {
    if (!tip.current || !host.current || !at) return;
    const over = host.current.querySelector<HTMLElement>(".u-over");
    const x = (over?.offsetLeft ?? 0) + at.left;
    const flips = x > host.current.clientWidth / 2;
    tip.current.style.transform = `translateX(${flips ? x - 12 - tip.current.offsetWidth : x + 12}px)`;
  });

  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    plot.current?.moveCursor(step);
  };

  return (
    <div class="line-chart">
      <div
        class="plot"
        ref={host}
        tabIndex={0}
        role="img"
        aria-label={`${label}. Use the arrow keys to read single points.`}
        onKeyDown={onKeyDown}
        onBlur={() => plot.current?.hideCursor()}
      />
      <div class="tip" ref={tip} aria-live="polite" hidden={!shown}>
        {shown && (
          <>
            <strong>{shown.heading}</strong>
            <dl>
              {shown.values.map(({ label: name, text, colour }) => (
                <div key={name}>
                  <dt class={colour ? `key ${colour}` : "key"}>{name}</dt>
                  <dd>{text}</dd>
                </div>
              ))}
            </dl>
          </>
        )}
      </div>
    </div>
  );
}

interface LegendEntry {
  label: string;
  colour: string;
  text?: string;
  /** Values of a dimension that the streams of the entry have: a click filters by them. */
  only?: [Dimension, readonly string[]];
}

export function Legend({ entries }: { entries: LegendEntry[] }) {
  return (
    <ul class="legend">
      {entries.map(({ label, colour, text, only }) => (
        <li key={label} class={`key ${colour}`}>
          {only ? (
            <button
              type="button"
              class="narrow"
              aria-pressed={isOnly(...only)}
              title={`Filter by ${label}`}
              onClick={() => toggleOnly(...only)}
            >
              {label}
            </button>
          ) : (
            label
          )}
          {text && <b>{text}</b>}
        </li>
      ))}
    </ul>
  );
}
