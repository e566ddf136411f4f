/** Selects a range of times on an SVG by dragging over it. */
import { useState } from "preact/hooks";

/** Pixels. */
interface Span {
  from: number;
  to: number;
}

/** A shorter drag is a click. */
export const MIN_BRUSH_PX = 6;

/** `onBrush` receives the ends of the selection in pixels from the left of the SVG. */
export function useBrush(onBrush: (from: number, to: number) => void, left: number, right: number) {
  const [span, setSpan] = useState<Span | null>(null);
  const at = (event: PointerEvent) => {
    const x = event.clientX - (event.currentTarget as Element).getBoundingClientRect().left;
    return Math.min(Math.max(x, left), right);
  };
  const handlers = {
    onPointerDown: (event: PointerEvent) => {
      // Touch scrolls the page instead.
      if (event.button !== 0 || event.pointerType === "touch") return;
      (event.currentTarget as Element).setPointerCapture(event.pointerId);
      setSpan({ from: at(event), to: at(event) });
    },
    onPointerMove: (event: PointerEvent) => span && setSpan({ from: span.from, to: at(event) }),
    onPointerUp: () => {
      setSpan(null);
      if (span && Math.abs(span.to - span.from) >= MIN_BRUSH_PX)
        onBrush(Math.min(span.from, span.to), Math.max(span.from, span.to));
    },
    onPointerCancel: () => setSpan(null),
  };
  return [handlers, span] as const;
}

export function BrushSpan({ span, height }: { span: Span | null; height: number }) {
  if (!span) return null;
  const [x, width] = [Math.min(span.from, span.to), Math.abs(span.to - span.from)];
  return <rect class="brush" x={x} y={0} width={width} height={height} />;
}
