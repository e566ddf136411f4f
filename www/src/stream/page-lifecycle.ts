/** Notes on page events during a stream that explain its timing. */
import type { PageLifecycle, StreamReport } from "../api/api-types";
import { bytes, count, duration, isKnown, plural, type MaybeNumber } from "../format";

/** Notes with a cost for the user first. Empty if nothing unusual happened. */
export function pageLifecycleNotes({ page_lifecycle: lifecycle }: Pick<StreamReport, "page_lifecycle">): string[] {
  if (!lifecycle) return [];
  const notes = [endDelayNote, longFramesNote, hiddenNote, afterStopNote, freezeNote, originNote];
  return notes.map((note) => note(lifecycle)).filter((text) => text !== null);
}

function endDelayNote({ end_delay_ms: delayMs }: PageLifecycle): string | null {
  if (!isKnown(delayMs) || delayMs < NOTICEABLE_MS) return null;
  return `The app saw the end of the stream ${duration(delayMs)} late (busy main thread or late read).`;
}

function longFramesNote({ long_frames: frameCount, long_frames_ms: totalMs }: PageLifecycle): string | null {
  if (!isPositive(frameCount)) return null;
  const sum = isKnown(totalMs) ? `, ${duration(totalMs)} in total` : "";
  return `${plural(frameCount, "long frame")} (50 ms or more)${sum}.`;
}

function hiddenNote({ hidden_ms: ms, hidden_bytes: arrived }: PageLifecycle): string | null {
  if (!isPositive(ms)) return null;
  const meanwhile = isPositive(arrived) ? ` and received ${bytes(arrived)} meanwhile` : "";
  return `The page was hidden for ${duration(ms)}${meanwhile}.`;
}

function afterStopNote({ after_stop_bytes: arrived }: PageLifecycle): string | null {
  return isPositive(arrived) ? `${bytes(arrived)} arrived after the user stopped the stream.` : null;
}

function freezeNote({ freezes }: PageLifecycle): string | null {
  if (!isPositive(freezes)) return null;
  return `The browser froze the page ${freezes === 1 ? "once" : `${count(freezes)} times`}.`;
}

function originNote({ restored, prerendered }: PageLifecycle): string | null {
  if (restored) return "The page was restored from the back/forward cache.";
  return prerendered ? "The request started before the page was visible (prerendered)." : null;
}

function isPositive(value: MaybeNumber): value is number {
  return isKnown(value) && value > 0;
}

/** Users do not notice delays of a few frames. */
const NOTICEABLE_MS = 50;
