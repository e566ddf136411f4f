import { describe, expect, it } from "vitest";

import type { Budget, Slo } from "../src/api/api-types";
import {
  burnDown,
  burnRateText,
  byUrgency,
  daysUntilExhausted,
  describeBudget,
  remainingText,
  statusOf,
  windowText,
  type UseCaseBudget,
} from "../src/panels/overview/error-budget";

const DAY = 86_400_000;
const TO = 40 * DAY;
const plain = (text: string) => text.replaceAll("\u00a0", " ");

/** One day per element with 1,000 streams each; the element is the number of failures. Objective: 99 %. */
function budget(badByDay: number[], lastDay = badByDay.at(-1) ?? 0): Budget {
  const by_day = badByDay.map((bad, i) => ({
    timestamp_ms: TO - (badByDay.length - i) * DAY,
    good: 1000 - bad,
    total: 1000,
  }));
  const total = 1000 * badByDay.length;
  const bad = badByDay.reduce((sum, one) => sum + one, 0);
  const allowed = 0.01 * total;
  return {
    objective: "speed",
    objective_ratio: 0.99,
    good: total - bad,
    total,
    allowed,
    remaining: total > 0 ? 1 - bad / allowed : null,
    burn_rates: [{ minutes: 1440, total: total > 0 ? 1000 : 0, rate: total > 0 ? lastDay / 10 : null }],
    by_day,
  };
}

const inPeriod = (of: Budget): UseCaseBudget => ({
  site: "demo",
  useCase: "chat",
  from: TO - 30 * DAY,
  to: TO,
  days: 30,
  targets: { ttft_p95_ms: 2000 },
  budget: of,
});
const days = (bad: number, length = 30) => Array.from({ length }, () => bad);

describe("the forecast of a budget", () => {
  it("lasts while the failures stay within the allowance", () => {
    expect(daysUntilExhausted(inPeriod(budget(days(10))))).toBeNull();
    expect(daysUntilExhausted(inPeriod(budget(days(0))))).toBeNull();
  });

  it("ends when the remaining failures are used up", () => {
    // 270 of 300 allowed failures remain; from now on 39 a day.
    const exhausted = daysUntilExhausted(inPeriod(budget([...days(0, 29), 30], 39)));
    expect(exhausted).toBeCloseTo((300 - 30) / 39, 1);
  });

  it("gives back the failures of days that leave the period", () => {
    // The first day used half of the budget. It leaves the period before 10 a day use the rest.
    expect(daysUntilExhausted(inPeriod(budget([150, ...days(0, 29)], 10)))).toBeNull();
  });

  it("uses only the days of a young budget", () => {
    expect(daysUntilExhausted(inPeriod(budget([5, 15], 15)))).toBeCloseTo(0, 1);
  });
});

describe("the text of a budget", () => {
  const text = (of: Budget) => plain(describeBudget(inPeriod(of)));

  it("names objective, use and forecast", () => {
    expect(text(budget(days(4)))).toBe(
      "SLO: 99 % of streams have TTFT ≤ 2 s. 120 too slow, 300 allowed. " +
        "At the current burn rate the budget lasts the full period.",
    );
    expect(text(budget([...days(4, 29), 40]))).toContain("the budget runs out in");
    expect(text(budget(days(0)))).toBe(
      "SLO: 99 % of streams have TTFT ≤ 2 s. 0 too slow, 300 allowed. None in the last 24 h.",
    );
  });

  it("names the burn rate of an overspent budget", () => {
    expect(text(budget(days(25)))).toContain("Burn rate (24 h): 2.5×.");
    expect(text(budget([...days(0, 20), 400, ...days(0, 9)]))).toContain("starts to recover in 20 days");
  });

  it("judges no budget with too few streams", () => {
    const few = { ...budget([1]), total: 99, good: 98 };
    expect(text(few)).toContain("1 too slow. Not enough traffic yet (99 streams; needs 100).");
    expect(statusOf(few)).toBe("none");
    expect(remainingText({ ...few, remaining: -0.01 })).toBe("–");
    expect(text(budget([]))).toContain("No eligible streams in 30 days.");
    expect(remainingText(budget([]))).toBe("–");
  });
});

it("the remaining share never rounds to 0 or 100 %", () => {
  const left = (remaining: number | null) => plain(remainingText({ ...budget(days(1)), remaining }));
  expect([0.999, 1, 0.62, 0.004, 0, -0.3, null].map(left)).toEqual([
    ">99 % left",
    "100 % left",
    "62 % left",
    "<1 % left",
    "0 % left",
    "overspent",
    "–",
  ]);
});

it("an alert outranks the remaining share", () => {
  const good = budget(days(1));
  expect(statusOf(good)).toBe("good");
  expect(statusOf({ ...good, alert: "page" })).toBe("bad");
  expect(statusOf({ ...good, alert: "ticket" })).toBe("warn");
  expect(statusOf(budget(days(9.5)))).toBe("warn");
  expect(statusOf(budget(days(11)))).toBe("bad");
});

it("budgets are sorted by alert, then by remaining share", () => {
  const slo = (use_case: string, ...budgets: Budget[]): Slo => ({
    from: 0,
    to: TO,
    days: 30,
    targets: { use_case },
    budgets,
  });
  const order = byUrgency([
    slo("calm", budget(days(1))),
    slo("spent", budget(days(12))),
    slo("burning", { ...budget(days(2)), alert: "incident" }, { ...budget(days(2)), alert: "page" }),
    slo("without an objective"),
    slo("few", { ...budget([2]), total: 99, good: 97, remaining: -1 }),
  ]);
  expect(order.map(({ useCase, budget: { alert } }) => `${useCase} ${alert ?? ""}`)).toEqual([
    "burning page",
    "burning incident",
    "spent ",
    "calm ",
    "few ",
  ]);
});

it("the burn-down ends at the remaining share", () => {
  const of = budget([0, 10, 5]);
  expect(burnDown(of).map(({ left }) => +left.toFixed(3))).toEqual([1, 0.667, 0.5]);
  expect(burnDown(of).at(-1)?.left).toBeCloseTo(of.remaining ?? 0);
});

it("burn rates and windows are short", () => {
  expect([0, 0.94, 3.14, 14.4, null].map(burnRateText)).toEqual(["0.0×", "0.9×", "3.1×", "14×", "–"]);
  expect([5, 30, 120, 4320].map(windowText).map(plain)).toEqual(["5 min", "30 min", "2 h", "3 d"]);
});
