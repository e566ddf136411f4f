import { expect, it } from "vitest";

import { pageLifecycleNotes } from "../src/stream/page-lifecycle";

const plain = (text: string) => text.replaceAll("\u00a0", " ");

it("a page without unusual events has no notes", () => {
  expect(pageLifecycleNotes({})).toEqual([]);
  const quiet = { protocol: "h2" as const, end_delay_ms: 3, hidden_ms: 0, long_frames: 0, long_frames_ms: 0, freezes: 0 };
  expect(pageLifecycleNotes({ page_lifecycle: quiet })).toEqual([]);
});

it("each unusual event has one note, costs first", () => {
  const lifecycle = {
    end_delay_ms: 180,
    long_frames: 1,
    long_frames_ms: 62,
    hidden_ms: 4000,
    hidden_bytes: 12_400,
    after_stop_bytes: 820,
    freezes: 2,
    restored: true,
    prerendered: true,
  };
  expect(pageLifecycleNotes({ page_lifecycle: lifecycle }).map(plain)).toEqual([
    "The app saw the end of the stream 180 ms late (busy main thread or late read).",
    "1 long frame (50 ms or more), 62 ms in total.",
    "The page was hidden for 4 s and received 12.4 kB meanwhile.",
    "820 B arrived after the user stopped the stream.",
    "The browser froze the page 2 times.",
    "The page was restored from the back/forward cache.",
  ]);
});
