/** Banner for failed requests: the reason, the age of the data on screen, and a retry button. */
import { describeView } from "../../charts/chart-captions";
import { timeOfDay } from "../../format";
import { refresh } from "../../polling/feed";
import { busy, connection, dashboardData, isStale } from "../../state";
import { Icon } from "../../ui/icon";

export function Banner() {
  const { value } = connection;
  if (value.kind !== "failed") return null;
  const shown = dashboardData.value;
  return (
    <div class="banner" role="alert" data-banner>
      <Icon name="bad" />
      <p>
        {value.message}{" "}
        {shown === null
          ? "No data has been loaded yet."
          : `Showing data from ${timeOfDay(shown.loadedAt)}${isStale.value ? ` (${describeView({ ...shown.view, metric: shown.metric })})` : ""}.`}
      </p>
      <button type="button" class="more small" onClick={() => void refresh()} disabled={busy.value}>
        Try again
      </button>
    </div>
  );
}
