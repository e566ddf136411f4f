/** What a page tells of a stream beside its moments in, what of it is worth a sentence out. */
import type { PageLifecycle, StreamReport } from "../api/api-types";
import { bytes, count, duration, isKnown, plural, type MaybeNumber } from "../format";

/** From what cost the user time to what only explains. Nothing where nothing stood out, or nothing was told. */
export function noteworthy({ around }: Pick<StreamReport, "around">): string[] {
  if (!around) return [];
  const told = [delay, frames, hidden, wasted, frozen, origin].map((tell) => tell(around));
  return told.filter((sentence) => sentence !== null);
}

function delay({ end_delay_ms: late }: PageLifecycle): string | null {
  if (!isKnown(late) || late < FELT_MS) return null;
  const why = "the main thread was busy, or the app read late";
  return `The app learnt of the end ${duration(late)} after it had arrived: ${why}.`;
}

function frames({ long_frames: held, long_frames_ms: together }: PageLifecycle): string | null {
  if (!isMore(held)) return null;
  const sum = isKnown(together) ? `, ${duration(together)} together` : "";
  return `${plural(held, "frame")} took 50 ms or longer${sum}.`;
}

function hidden({ hidden_ms: ms, hidden_bytes: arrived }: PageLifecycle): string | null {
  if (!isMore(ms)) return null;
  const meanwhile = isMore(arrived) ? `, while ${bytes(arrived)} arrived` : "";
  return `The page was hidden for ${duration(ms)}${meanwhile}.`;
}

function wasted({ after_stop_bytes: arrived }: PageLifecycle): string | null {
  return isMore(arrived) ? `${bytes(arrived)} arrived after the user had asked for no more.` : null;
}

function frozen({ freezes }: PageLifecycle): string | null {
  if (!isMore(freezes)) return null;
  return `The browser froze the page ${freezes === 1 ? "once" : `${count(freezes)} times`}.`;
}

function origin({ restored, prerendered }: PageLifecycle): string | null {
  if (restored) return "The page had come back from the back/forward cache.";
  return prerendered ? "The request was made before the page was shown." : null;
}

function isMore(value: MaybeNumber): value is number {
  return isKnown(value) && value > 0;
}

/** Shorter than a few frames, nobody notices. */
const FELT_MS = 50;
