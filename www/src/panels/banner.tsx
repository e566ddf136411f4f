/** No good answer from the collector: says so above what it last answered, and offers to try again. */
import { clock } from "../format";
import { refresh } from "../polling/feed";
import { Glyph } from "../ui/icon";
import { readAsked } from "../charts/chart-captions";
import { answers, busy, isStale, link } from "../state";

export function Banner() {
  const { value } = link;
  if (value.kind !== "failed") return null;
  const shown = answers.value;
  return (
    <div class="banner" role="alert" data-banner>
      <Glyph name="bad" />
      <p>
        {value.what}{" "}
        {shown === null
          ? "Nothing has been loaded yet."
          : `What you see is from ${clock(shown.at)}${isStale.value ? `, of ${readAsked(shown.asked)}` : ""}.`}
      </p>
      <button type="button" class="more small" onClick={() => void refresh()} disabled={busy.value}>
        Try again
      </button>
    </div>
  );
}
