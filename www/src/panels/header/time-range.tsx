/** Time range of the screen: presets, or fixed times with a zoom. */
import { useState } from "preact/hooks";

import { fixedRange, isFixed, RANGES, zoomedOut, type FixedRange, type RangePreset } from "../../api/range";
import { setRange, shownTimes, view } from "../../state";
import { inputValue, parseInput, timeZone } from "../../time-zone";
import { SegmentedControl } from "../../ui/segmented-control";

const CUSTOM = "custom";
const OPTIONS = [
  ...RANGES.map((value) => ({ value, label: value, title: `Last ${value}` })),
  { value: CUSTOM, label: CUSTOM, title: "Fixed times" },
] as const;

export function TimeRange() {
  const { range } = view.value;
  return (
    <SegmentedControl<RangePreset | typeof CUSTOM>
      legend="Time range"
      name="range"
      options={OPTIONS}
      chosen={isFixed(range) ? CUSTOM : range}
      onChoose={(chosen) => setRange(chosen === CUSTOM ? shownTimes() : chosen)}
    />
  );
}

/** The fixed times as inputs. Absent while the range ends now. */
export function FixedTimes() {
  const { range } = view.value;
  if (!isFixed(range)) return null;
  // The key discards unfinished input when the range or the time zone changes.
  return <TimesForm key={`${range.from} ${range.to} ${timeZone.value}`} range={range} />;
}

function TimesForm({ range }: { range: FixedRange }) {
  const [error, setError] = useState<string | null>(null);
  const apply = (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const times = new FormData(event.currentTarget);
    const next = fixedRange(parseInput(String(times.get("from"))), parseInput(String(times.get("to"))));
    if (next) setRange(next);
    else setError("The end must be after the start, by at most 400 days.");
  };
  const zone = timeZone.value === "utc" ? "UTC" : "local time";
  return (
    <form class="times" onSubmit={apply} data-times>
      <label>
        From <input type="datetime-local" name="from" defaultValue={inputValue(range.from)} required />
      </label>
      <label>
        to <input type="datetime-local" name="to" defaultValue={inputValue(range.to)} required />
      </label>
      <span class="tool-word">{zone}</span>
      <button type="submit" class="more small">
        Apply
      </button>
      <button type="button" class="more small" onClick={() => setRange(zoomedOut(range, Date.now()))}>
        Zoom out
      </button>
      {error !== null && (
        <span class="bad" role="alert">
          {error}
        </span>
      )}
    </form>
  );
}
