/** Header: name, time range, filters, refresh, link, time zone, theme and sign-out. */
import { useLayoutEffect, useRef } from "preact/hooks";

import { DIMENSIONS } from "../api/dimensions";
import { humanize, timeOfDay, valueLabel } from "../format";
import { logout, refresh, REFRESH_MS } from "../polling/feed";
import { busy, dashboardData, paused, screen, session, setFilter, view } from "../state";
import { nextTheme, theme } from "../theme";
import { Icon } from "../ui/icon";
import { CopyLink } from "./copy-link";
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
        <button type="button" class="quiet" onClick={nextTheme} title={`Theme: ${theme.value}`}>
          <Icon name={theme.value} />
          <span class="tool-word">{theme.value}</span>
          <span class="unseen">switch theme</span>
        </button>
        {!isLocked && <SignOut />}
      </div>
      {!isLocked && <FixedTimes />}
      <FilterChips />
    </header>
  );
}

/** Shown for a session only. A proxy in front has its own way to sign out. */
function SignOut() {
  if (session.value?.signed_in_by !== "session") return null;
  return (
    <button type="button" class="quiet" data-sign-out onClick={() => void logout()} title={`Signed in as ${session.value.name}`}>
      Sign out
    </button>
  );
}

function Refresh() {
  const at = dashboardData.value?.loadedAt;
  const every = `every ${REFRESH_MS / 1000} s`;
  const toggle = () => {
    paused.value = !paused.value;
    if (!paused.value) void refresh();
  };
  return (
    <div class={`refresh${paused.value ? " paused" : ""}${busy.value ? " busy" : ""}`}>
      <span class="pulse" aria-hidden="true" />
      <span class="tool-word" title={at ? `Updated at ${timeOfDay(at)}` : undefined}>
        {paused.value ? (at ? `paused at ${timeOfDay(at)}` : "paused") : every}
      </span>
      <button
        type="button"
        class="quiet"
        onClick={toggle}
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
