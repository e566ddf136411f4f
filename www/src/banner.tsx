/** No good answer from the collector: says so above what it last answered, and offers to try again. */
import { clock } from "./format";
import { refresh } from "./feed";
import { Glyph } from "./glyph";
import { answers, busy, link } from "./state";

export function Banner() {
  const { value } = link;
  if (value.kind !== "failed") return null;
  const at = answers.value?.at;
  return (
    <div class="banner" role="alert" data-banner>
      <Glyph name="bad" />
      <p>
        {value.what} {at ? `What you see is from ${clock(at)}.` : "Nothing has been loaded yet."}
      </p>
      <button type="button" class="more small" onClick={() => void refresh()} disabled={busy.value}>
        Try again
      </button>
    </div>
  );
}
