// Measures when the user could see the first text: the first frame after it is in the page. The output is an element
// that the app names, or the one in which most of the text grows while the response begins.

import { END_MARKER, FIRST_TOKEN, FIRST_VISIBLE, NEEDS_FULL_WASM } from "../session/progress-flags.js";
import { CHUNK, CLOSED } from "../tap/tap-events.js";
import { PaintSearches } from "./paint-searches.js";
import { roundMs } from "./round-ms.js";

/** Adds `ttfp_ms` to reports, and `watchOutput(element)` to the probe. */
export const paint = () => (core) => {
  // A worker shows nothing.
  if (!globalThis.document) return {};
  const searches = new PaintSearches(core.guard);
  core.probe.watchOutput = (element) => {
    core.guard(() => searches.addOutput(element));
    return () => searches.removeOutput(element);
  };

  return {
    onEvent(stream, event, value, time) {
      const { seen } = stream;
      if (event == CHUNK && seen & (FIRST_TOKEN | NEEDS_FULL_WASM)) stream.paint ??= searches.begin(stream, time);
      const { paint: search } = stream;
      if (!search) return;
      if (seen & FIRST_VISIBLE && !search.since) searches.expect(search, (search.since = time));
      if (event < CLOSED && !(seen & END_MARKER)) return;
      search.over = time;
      if (!search.since) searches.finish(search);
    },
    addFields(report, { paint: search, time }) {
      const from = time + report.ttfv_ms;
      // A stream that was open already began before the search.
      if (!(from > search?.since - 1)) return;
      if (!search.from) searches.expect(search, from);
      const at = searches.paintedAt(search);
      // A clock that has stepped back shows no time of the paint.
      if (at > from - 1) report.ttfp_ms = roundMs(at - time);
    },
    stop: () => searches.stop(),
  };
};
