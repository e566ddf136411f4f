import { expect, it } from "vitest";

import { pageLifecycleNotes } from "../src/stream/page-lifecycle";

const plain = (text: string) => text.replaceAll("\u00a0", " ");

it("a page without unusual events has no notes", () => {
  expect(pageLifecycleNotes({})).toEqual([]);
  const quiet = { protocol: "h2", end_delay_ms: 3, hidden_ms: 0, long_frames: 0, long_frames_ms: 0, freezes: 0 };
  expect(pageLifecycleNotes({ around: quiet })).toEqual([]);
});

it("each unusual event has one note, costs first", () => {
  const around = {
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
  expect(pageLifecycleNotes({ around }).map(plain)).toEqual([
    "The app learnt of the end 180 ms after it had arrived: the main thread was busy, or the app read late.",
    "1 frame took 50 ms or longer, 62 ms together.",
    "The page was hidden for 4 s, while 12.4 kB arrived.",
    "820 B arrived after the user had asked for no more.",
    "The browser froze the page 2 times.",
    "The page had come back from the back/forward cache.",
  ]);
});
