import { expect, it } from "vitest";

import type { Explanation, Finding } from "../src/api/schemas";
import { clearFinding, explanationCaption, timeText, valuesText } from "../src/panels/overview/explain-text";
import { timeZone } from "../src/time-zone";

const AT = Date.UTC(2026, 10, 27, 22, 26);
const finding: Finding = {
  values: [
    { dimension: "release", value: "v42" },
    { dimension: "country", value: "DE" },
  ],
  same: [],
  began_with: [{ dimension: "response_model", value: "m-2" }],
  affected: 91,
  streams: 95,
  share_of_affected: 0.91,
  share_of_rest: 0.01,
  excess_lower: 0.85,
  excess_upper: 0.95,
  since_ms: AT,
};
const answer: Explanation = {
  from: AT - 3_600_000,
  to: AT + 3_600_000,
  of: "slow",
  streams: 2000,
  affected: 100,
  confidence: 0.999,
  findings: [finding],
};

it("names countries and joins two values", () => {
  expect(valuesText(finding.values)).toBe("release v42 with country Germany");
});

it("is quoted if it explains most of many streams", () => {
  timeZone.value = "utc";
  const quoted = (change: Partial<Finding>) =>
    clearFinding({ ...answer, findings: [{ ...finding, ...change }] })?.replaceAll("\u00a0", " ");
  const share = "91.0 % of the slow streams are release v42 with country Germany.";
  expect(quoted({})).toBe(`Since 22:26, ${share} Response model m-2 appeared then.`);
  expect(quoted({ until_ms: AT + 600_000, began_with: [] })).toBe(`From 22:26 to 22:36, ${share}`);
  expect(quoted({ since_ms: null })).toBe(share);
  expect(quoted({ affected: 19 })).toBeUndefined();
  expect(quoted({ share_of_affected: 0.4 })).toBeUndefined();
  expect(clearFinding({ ...answer, findings: [] })).toBeNull();
});

it("says when, or that it was throughout", () => {
  timeZone.value = "utc";
  expect(timeText(finding, AT)).toBe("since 22:26:00");
  expect(timeText({ ...finding, until_ms: AT + 600_000 }, AT)).toBe("22:26:00 – 22:36");
  expect(timeText({ ...finding, since_ms: null }, AT)).toBe("whole range");
});

it("says what was compared, and that nothing was found", () => {
  timeZone.value = "utc";
  const caption = (change: Partial<Explanation>) =>
    explanationCaption({ ...answer, ...change }, AT).replaceAll("\u00a0", " ");
  expect(caption({})).toBe(
    "Compared: 2,000 streams, 100 slow. If the streams did not differ, nothing would be listed in 99.9 % of the cases.",
  );
  expect(caption({ findings: [], kept_since_ms: AT })).toBe(
    "Compared: 2,000 streams, 100 slow. Only streams since 22:26:00 count. No value is more frequent among them than chance allows.",
  );
  expect(caption({ findings: [], affected: 0 })).toBe("Compared: 2,000 streams, 0 slow.");
});
