/** Times in the local time zone or in UTC. The browser stores the choice; `?tz=` overrides it for one page. */
import { signal } from "@preact/signals";

export type TimeZone = "local" | "utc";

const STORAGE_KEY = "llm-rum-time-zone";

export const timeZone = signal<TimeZone>(initialTimeZone());

export function switchTimeZone(): void {
  timeZone.value = timeZone.value === "utc" ? "local" : "utc";
  try {
    localStorage.setItem(STORAGE_KEY, timeZone.value);
  } catch {
    // Storage can be disabled: the choice then lasts as long as the page.
  }
}

/** `month` counts from 0. */
export interface CalendarTime {
  year: number;
  month: number;
  day: number;
  hours: number;
  minutes: number;
  seconds: number;
}

export function calendarTime(unixMs: number): CalendarTime {
  const at = new Date(unixMs);
  if (timeZone.value === "utc") {
    const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()];
    return { year, month, day, hours: at.getUTCHours(), minutes: at.getUTCMinutes(), seconds: at.getUTCSeconds() };
  }
  const [year, month, day] = [at.getFullYear(), at.getMonth(), at.getDate()];
  return { year, month, day, hours: at.getHours(), minutes: at.getMinutes(), seconds: at.getSeconds() };
}

/** Inverse of `calendarTime`. A day or second outside its unit moves on to the next unit. */
export function unixTime({ year, month, day }: Pick<CalendarTime, "year" | "month" | "day">, seconds = 0): number {
  if (timeZone.value === "utc") return Date.UTC(year, month, day, 0, 0, seconds);
  return new Date(year, month, day, 0, 0, seconds).getTime();
}

/** Value of an input for a date and a time: `2026-11-25T18:03`. */
export function inputValue(unixMs: number): string {
  const { year, month, day, hours, minutes } = calendarTime(unixMs);
  const [date, time] = [[year, month + 1, day], [hours, minutes]].map((parts) =>
    parts.map((part) => String(part).padStart(2, "0")),
  );
  return `${date?.join("-")}T${time?.join(":")}`;
}

/** Inverse of `inputValue`; `NaN` for other text. */
export function parseInput(text: string): number {
  // Without an offset, a date with a time is local.
  return Date.parse(timeZone.value === "utc" ? `${text}Z` : text);
}

export function isSameDay(one: number, other: number): boolean {
  const [a, b] = [calendarTime(one), calendarTime(other)];
  return a.day === b.day && a.month === b.month && a.year === b.year;
}

function initialTimeZone(): TimeZone {
  try {
    const requested = new URLSearchParams(location.search).get("tz") ?? localStorage.getItem(STORAGE_KEY);
    return requested === "utc" ? "utc" : "local";
  } catch {
    return "local";
  }
}
