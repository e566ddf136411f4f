/** Icons. Their shapes differ, so that colour is never the only sign. */
export type IconName =
  | "good"
  | "warn"
  | "bad"
  | "none"
  | "cut"
  | "away"
  | "stop"
  | "open"
  | "play"
  | "pause"
  | "close"
  | "newer"
  | "older"
  | "auto"
  | "light"
  | "dark"
  | "link"
  | "menu"
  | "filter"
  | "mark";

const PATHS: Record<IconName, string> = {
  good: "M3.5 8.5l3 3 6-7",
  warn: "M8 2.2l6.2 11.3H1.8zM8 6.4v3.4M8 11.7v.1",
  bad: "M4.2 4.2l7.6 7.6M11.8 4.2l-7.6 7.6",
  none: "M4 8h8",
  cut: "M2 8h4.5M6.5 5v6M9.5 5v6M11.5 8h.1M14 8h.1",
  away: "M3 8h8M8 5l3 3-3 3M13.5 3.5v9",
  stop: "M4.5 4.5h7v7h-7z",
  open: "M8 8m-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0M8 8h.1",
  play: "M5 3.5l7 4.5-7 4.5z",
  pause: "M5.5 4v8M10.5 4v8",
  close: "M4 4l8 8M12 4l-8 8",
  newer: "M4 10l4-4 4 4",
  older: "M4 6l4 4 4-4",
  auto: "M8 8m-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0M8 3v10M10 4v8M12 6v4",
  light:
    "M8 8m-2.6 0a2.6 2.6 0 1 0 5.2 0a2.6 2.6 0 1 0-5.2 0M8 1.8v1.4M8 12.8v1.4M1.8 8h1.4M12.8 8h1.4" +
    "M3.6 3.6l1 1M11.4 11.4l1 1M3.6 12.4l1-1M11.4 4.6l1-1",
  dark: "M12.8 9.6A5.4 5.4 0 0 1 6.4 3.2a5.4 5.4 0 1 0 6.4 6.4z",
  link: "M6.8 9.2l2.4-2.4M7.2 5l1.5-1.5a2.7 2.7 0 0 1 3.8 3.8L11 8.8M8.8 11l-1.5 1.5a2.7 2.7 0 0 1-3.8-3.8L5 7.2",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  filter: "M2.5 4h11M4.5 8h7M6.5 12h3",
  mark: "M2.5 3v10M7 8h.1M10.7 8h.1M14.4 8h.1",
};

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
