/** Header: name, time range, filters, refresh, link, time zone, theme and menu. */
import { useLayoutEffect, useRef } from "preact/hooks";

import { DIMENSIONS } from "../api/dimensions";
import { humanize, timeOfDay, valueLabel } from "../format";
import { REFRESH_MS } from "../polling/feed";
import { busy, dashboardData, paused, screen, setFilter, view } from "../state";
import { nextTheme, theme } from "../theme";
import { Icon } from "../ui/icon";
import { CopyLink } from "./copy-link";
import { Menu } from "./menu";
import { togglePause } from "./shortcuts";
import { FixedTimes, TimeRange } from "./time-range";
import { TimeZoneButton } from "./time-zone-button";

export function Header() {
  const isLocked = screen.value === "locked";
  return (
    <header class="header">
      <h1>
        <Icon name="mark" />
        llm-rum
      </h1>
      {!isLocked && <TimeRange />}
      <div class="tools">
        {!isLocked && <Refresh />}
        {!isLocked && <CopyLink />}
        <TimeZoneButton />
        <button type="button" class="quiet" onClick={nextTheme} title={`Theme: ${theme.value}`} data-theme-button>
          <Icon name={theme.value} />
          <span class="tool-word">{theme.value}</span>
          <span class="unseen">switch theme</span>
        </button>
        <Menu />
      </div>
      {!isLocked && <FixedTimes />}
      <FilterChips />
    </header>
  );
}

function Refresh() {
  const at = dashboardData.value?.loadedAt;
  const every = `every ${REFRESH_MS / 1000} s`;
  return (
    <div class={`refresh${paused.value ? " paused" : ""}${busy.value ? " busy" : ""}`}>
      <span class="pulse" aria-hidden="true" />
      <span class="tool-word" title={at ? `Updated at ${timeOfDay(at)}` : undefined}>
        {paused.value ? (at ? `paused at ${timeOfDay(at)}` : "paused") : every}
      </span>
      <button
        type="button"
        class="quiet"
        onClick={togglePause}
        aria-pressed={paused.value}
        title={paused.value ? "Resume" : "Pause"}
      >
        <Icon name={paused.value ? "play" : "pause"} />
        <span class="unseen">Pause refreshing</span>
      </button>
    </div>
  );
}

function FilterChips() {
  const { filters } = view.value;
  const removed = useRef<number | null>(null);
  // Removing a chip removes the focus: move it to the next chip, the last one, or the range.
  useLayoutEffect(() => {
    if (removed.current === null) return;
    const chips = document.querySelectorAll<HTMLElement>(".chip");
    const next = chips[Math.min(removed.current, chips.length - 1)];
    (next ?? document.querySelector<HTMLElement>(".header input:checked"))?.focus();
    removed.current = null;
  }, [filters]);
  const set = DIMENSIONS.flatMap((dimension) => {
    const value = filters[dimension];
    return value === undefined ? [] : [{ dimension, value }];
  });
  if (set.length === 0) return null;
  return (
    <ul class="chips" aria-label="Filters">
      {set.map(({ dimension, value }, at) => (
        <li key={dimension}>
          <button
            type="button"
            class="chip"
            onClick={() => {
              removed.current = at;
              setFilter(dimension, null);
            }}
            title="Remove this filter"
          >
            <span>
              {humanize(dimension)} <b>{valueLabel(dimension, value)}</b>
            </span>
            <Icon name="close" />
            <span class="unseen">remove</span>
          </button>
        </li>
      ))}
    </ul>
  );
}
