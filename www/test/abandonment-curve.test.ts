import { describe, expect, it } from "vitest";

import type { Abandonment, AbandonmentPoint } from "../src/api/api-types";
import {
  abandonmentCaption,
  bandPath,
  pointAt,
  stepPath,
  topShare,
  trustedPoints,
  unreadCaption,
} from "../src/panels/abandonment-curve";

type Interval = Pick<AbandonmentPoint, "lower" | "upper">;
const point = (wait_ms: number, at_risk: number, share: number, interval: Interval = {}): AbandonmentPoint => ({
  wait_ms,
  at_risk,
  share,
  ...interval,
});

const RANGE = { from: 0, to: 3_600_000, relative_error: 0.0109 };

function answer(...points: AbandonmentPoint[]): Abandonment {
  return { ...RANGE, metric: "ttfv", at_risk: 100, reached: 90, abandoned: 8, failed_before: 2, points };
}

const scale = { x: (ms: number) => ms / 10, y: (share: number) => 100 - 100 * share };

describe("the abandonment curve", () => {
  it("ends where fewer than ten streams wait", () => {
    const points = [point(100, 60, 0), point(200, 10, 0.1), point(400, 9, 0.2), point(800, 0, 1)];
    expect(trustedPoints(answer(...points)).map(({ wait_ms }) => wait_ms)).toEqual([100, 200, 400]);
    expect(trustedPoints({ ...answer(...points), at_risk: 9 })[0]?.wait_ms).toBe(200);
    expect(trustedPoints(answer())).toEqual([]);
  });

  it("keeps a share until the next wait ends", () => {
    const points = [point(100, 60, 0.1), point(200, 10, 0.5)];
    expect(stepPath(points, scale, 0)).toBe("M0 100H10V90H20V50");
    expect([50, 100, 150, 900].map((ms) => pointAt(points, ms)?.share)).toEqual([undefined, 0.1, 0.1, 0.5]);
  });

  it("has a band over the same waits", () => {
    const points = [
      point(100, 60, 0),
      point(200, 50, 0.2, { lower: 0.1, upper: 0.3 }),
      point(400, 10, 0.5, { lower: 0.4, upper: 0.6 }),
    ];
    expect(bandPath(points, scale)).toBe("M20 70H20V70H40V40H40V60H40V90H20Z");
    expect(bandPath([point(100, 60, 0)], scale)).toBe("");
  });

  it("has a round upper limit above the band", () => {
    expect(topShare([point(1, 1, 0.013, { upper: 0.031 })])).toBeCloseTo(0.04);
    expect(topShare([point(1, 1, 0.22, { upper: 0.31 })])).toBeCloseTo(0.4);
    expect(topShare([point(1, 1, 1)])).toBe(1);
    expect(topShare([])).toBeCloseTo(0.02);
  });
});

describe("the caption of the abandonment curve", () => {
  const plain = (text: string) => text.replaceAll("\u00a0", " ");

  const caption = (more: Partial<Abandonment>): string => {
    const points = [
      { wait_ms: 1000, at_risk: 50, share: 0.02 },
      { wait_ms: 5000, at_risk: 12, share: 0.11 },
      { wait_ms: 9000, at_risk: 4, share: 0.4 },
    ];
    const counts = { at_risk: 104, reached: 90, abandoned: 14, failed_before: 0 };
    return plain(abandonmentCaption({ ...RANGE, metric: "ttfv", ...counts, points, ...more }));
  };

  it("gives the count and the wait of 10 %", () => {
    expect(caption({})).toBe(
      "14 of 104 users (13.5 %) gave up before the first visible token. " +
        "10 % of users give up after 5 s without a token.",
    );
    expect(caption({ metric: "ttft", failed_before: 1, points: [{ wait_ms: 1000, at_risk: 50, share: 0.02 }] })).toBe(
      "14 of 104 users (13.5 %) gave up before the first token. 1 stream failed before it. " +
        "2.0 % of users give up after 1 s without a token.",
    );
  });

  it("says when no user abandoned", () => {
    expect(caption({ abandoned: 0 })).toBe("No user gave up before the first visible token.");
    expect(caption({ at_risk: 0, abandoned: 0 })).toBe("No waits in this time range.");
  });
});

describe("the output for users who had left", () => {
  const counts = { users_left: 9, backend_ends: 50, client_gone: 8, client_gone_counted: 6, sites: [] };
  const caption = (more: object) =>
    unreadCaption({
      ...answer(),
      unread_output: { ...counts, output_tokens: 2000, tokens_after_gone: 100, share: 0.05, ...more },
    });

  const left = "9 users left before the end by the browser, 8 by the backend.";

  it("tells its share, and of how many users it is known", () => {
    const all = `${left} It generated 100 tokens, 5.0\u00a0% of all, for users who had left`;
    expect(caption({})).toBe(`${all} (counted for 6 of 8 users).`);
    expect(caption({ client_gone_counted: 8 })).toBe(`${all}.`);
  });

  it("names the sites with the largest shares if there are several", () => {
    const of = (site: string, share: number | null) => ({ ...counts, site, share });
    const sites = [of("chat", 0.04), of("docs", null), of("shop", 0.25)];
    expect(caption({ sites })).toMatch(/\. By site: shop 25.0\u00a0%, chat 4\.0\u00a0%\.$/);
    expect(caption({ sites: sites.slice(0, 2) })).not.toContain("By site");
    const many = ["a", "b", "c", "d", "e", "f", "g"].map((site) => of(site, 0.1));
    expect(caption({ sites: many })).toMatch(/ e 10.0\u00a0% and 2 more\.$/);
  });

  it("says so if the backend counted none of it", () => {
    const text = `${left} The backend did not count what it generated after that.`;
    expect(caption({ client_gone_counted: 0, share: null })).toBe(text);
  });

  it("is left out if no backend tells it, or no user left", () => {
    expect(unreadCaption(answer())).toBe("");
    expect(caption({ client_gone: 0, client_gone_counted: 0 })).toBe("");
  });
});
