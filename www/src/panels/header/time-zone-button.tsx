/** Button that switches all times between the local time zone and UTC. */
import { switchTimeZone, timeZone } from "../../time-zone";

export function TimeZoneButton() {
  const isUtc = timeZone.value === "utc";
  const title = `Times are in ${isUtc ? "UTC" : "the local time zone"}. Switch to ${isUtc ? "local time" : "UTC"}`;
  return (
    <button type="button" class="quiet" onClick={switchTimeZone} title={title} data-time-zone={timeZone.value}>
      <span class="zone">{isUtc ? "UTC" : "local"}</span>
      <span class="unseen">switch time zone</span>
    </button>
  );
}
