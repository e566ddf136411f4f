/** Keyboard shortcuts: their list, and the handler of keys. */
import { signal } from "@preact/signals";

import { RANGES } from "../../api/range";
import { DURATION_METRICS } from "../../metric";
import { refresh } from "../../polling/feed";
import {
  dashboardData,
  defaultMetric,
  navigate,
  openStream,
  paused,
  rows,
  screen,
  setChartType,
  setMetric,
  setRange,
  view,
} from "../../state";
import { nextTheme } from "../../theme";
import { switchTimeZone } from "../../time-zone";

export interface Shortcut {
  keys: readonly string[];
  label: string;
  /** Works while the sheet of a stream is open. */
  isOfSheet?: boolean;
  /** Works on every screen, such as the form for the token. */
  isOfAllScreens?: boolean;
  run: (key: string) => void;
}

/** Whether the help is on screen. */
export const isHelpOpen = signal(false);

const STORAGE_KEY = "llm-rum-shortcuts";

/** Speech input can press single keys by mistake, so they can be turned off. The browser stores the choice. */
export const hasShortcuts = signal(readChoice());

export function setShortcuts(isOn: boolean): void {
  hasShortcuts.value = isOn;
  try {
    localStorage.setItem(STORAGE_KEY, isOn ? "on" : "off");
  } catch {
    // Storage can be disabled: the choice then lasts as long as the page.
  }
}

export function togglePause(): void {
  paused.value = !paused.value;
  if (!paused.value) void refresh();
}

export const SHORTCUTS: readonly Shortcut[] = [
  { keys: ["?"], label: "Show this help", isOfAllScreens: true, run: () => (isHelpOpen.value = true) },
  {
    keys: RANGES.map((_, at) => String(at + 1)),
    label: `Time range: ${RANGES.join(", ")}`,
    run: (key) => setRange(RANGES[Number(key) - 1] ?? "1h"),
  },
  { keys: ["r"], label: "Refresh now", run: () => void refresh() },
  { keys: ["p"], label: "Pause or resume refreshing", run: togglePause },
  { keys: ["m"], label: "Next metric of the charts", run: nextMetric },
  {
    keys: ["h"],
    label: "Switch between lines and heatmap",
    run: () => setChartType(view.peek().chartType === "lines" ? "heatmap" : "lines"),
  },
  { keys: ["f"], label: "Open the filters", run: openFilters },
  { keys: ["x"], label: "Remove all filters", run: () => navigate({ filters: {} }) },
  {
    keys: ["j", "k"],
    label: "Next or previous stream of the list, while one is open",
    isOfSheet: true,
    run: (key) => moveStream(key === "j" ? 1 : -1),
  },
  { keys: ["t"], label: "Switch the theme", isOfAllScreens: true, run: nextTheme },
  { keys: ["u"], label: "Switch between local time and UTC", isOfAllScreens: true, run: switchTimeZone },
];

export function startShortcuts(): void {
  addEventListener("keydown", (event) => {
    if (!hasShortcuts.peek() || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTyping(event.target) || isHelpOpen.peek()) return;
    const shortcut = shortcutOf(event.key);
    if (!shortcut) return;
    event.preventDefault();
    shortcut.run(event.key);
  });
}

/** The shortcut of a key on the screen as it is. */
export function shortcutOf(key: string): Shortcut | undefined {
  const hasDashboard = screen.peek() !== "locked" && dashboardData.peek() !== null;
  const hasSheet = view.peek().stream !== null;
  return SHORTCUTS.find(({ keys, isOfSheet = false, isOfAllScreens = false }) => {
    const applies = isOfAllScreens || (hasDashboard && isOfSheet === hasSheet);
    return applies && keys.includes(key);
  });
}

function openFilters(): void {
  document.querySelector<HTMLElement>(".filter-menu:not([open]) summary")?.click();
  document.querySelector<HTMLElement>(".filter-menu summary")?.focus();
}

function nextMetric(): void {
  const shown = view.peek().metric ?? defaultMetric.peek();
  const next = DURATION_METRICS[(DURATION_METRICS.indexOf(shown) + 1) % DURATION_METRICS.length];
  if (next) setMetric(next);
}

function moveStream(by: number): void {
  const all = rows.peek();
  const at = all.findIndex(({ id }) => id === view.peek().stream);
  const next = at === -1 ? undefined : all[at + by];
  if (next) openStream(next.id);
}

/** Letters select an option of a `<select>`; a radio button or a check box takes none. */
function isTyping(target: EventTarget | null): boolean {
  if (target instanceof HTMLInputElement) return target.type !== "radio" && target.type !== "checkbox";
  return target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement;
}

function readChoice(): boolean {
  try {
    return localStorage.getItem(STORAGE_KEY) !== "off";
  } catch {
    return true;
  }
}
