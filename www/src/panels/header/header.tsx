/** Header: name, time range, filters, refresh, link, time zone, theme and menu. */
import { timeOfDay } from "../../format";
import { REFRESH_MS } from "../../polling/feed";
import { busy, dashboardData, paused, screen } from "../../state";
import { nextTheme, theme } from "../../theme";
import { Icon } from "../../ui/icon";
import { CopyLink } from "./copy-link";
import { FilterBar } from "./filter-bar";
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
      {!isLocked && <FilterBar />}
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
