/** Current width of an element, so that an SVG can be drawn in whole pixels. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";

export function useWidth<Element extends HTMLElement>(fallback: number) {
  const host = useRef<Element>(null);
  const [width, setWidth] = useState(fallback);
  useLayoutEffect(() => {
    const element = host.current;
    if (!element) return undefined;
    const measure = () => {
      if (element.clientWidth > 0) setWidth(element.clientWidth);
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [host, width] as const;
}
