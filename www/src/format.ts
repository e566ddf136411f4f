/**
 * Formats numbers and times as short text. Three significant digits at most, as the error bound of percentiles is 1.1
 * %.
 */
import { isAttribute, keyOf } from "./api/attributes";
import { DIMENSIONS } from "./api/dimensions";
import { calendarTime, isSameDay } from "./time-zone";

/** Placeholder for an absent value. */
export const ABSENT = "–";

const SPACE = "\u00a0";
const countries = new Intl.DisplayNames("en", { type: "region" });
const wholeNumber = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export type MaybeNumber = number | null | undefined;

export function isKnown(value: MaybeNumber): value is number {
  return value !== null && value !== undefined && Number.isFinite(value);
}

/** A duration: `0.4 ms`, `812 ms`, `1.42 s`, `2 min 5 s`, `1 h 3 min`. */
export function duration(ms: MaybeNumber): string {
  if (!isKnown(ms)) return ABSENT;
  if (ms < 0) return `−${duration(-ms)}`;
  if (ms === 0) return `0${SPACE}ms`;
  if (ms < 0.05) return `<0.1${SPACE}ms`;
  if (ms < 999.5) return `${significant(ms)}${SPACE}ms`;
  if (ms < 59_950) return `${significant(ms / 1000)}${SPACE}s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return twoUnits(seconds, 60, "min", "s");
  return twoUnits(Math.round(seconds / 60), 60, "h", "min");
}

/** A duration with a constant number of digits, for columns. */
export function columnDuration(ms: MaybeNumber): string {
  if (!isKnown(ms) || ms < 0.05 || ms >= 59_950) return duration(ms);
  return ms < 999.5 ? `${threeDigits(ms)}${SPACE}ms` : `${threeDigits(ms / 1000)}${SPACE}s`;
}

/** A duration with one decimal, for a single stream. */
export function exactDuration(ms: MaybeNumber): string {
  if (!isKnown(ms)) return ABSENT;
  if (Math.abs(ms) >= 10_000) return `${(ms / 1000).toFixed(2)}${SPACE}s`.replace("-", "−");
  return `${grouped(ms, 1)}${SPACE}ms`;
}

/** A duration in microseconds: `2.4 µs`. */
export function microseconds(us: MaybeNumber): string {
  return isKnown(us) ? `${significant(us)}${SPACE}µs` : ABSENT;
}

/** An axis value in a single unit: `50 µs`, `2 ms`, `200 s`. */
export function tickDuration(ms: number): string {
  if (ms >= 59_950) return `${count(ms / 1000)}${SPACE}s`;
  return ms > 0 && ms < 0.9995 ? microseconds(ms * 1000) : duration(ms);
}

/** A share: `94.7 %`. Only exact values show as 0 % or 100 %. */
export function percent(ratio: MaybeNumber): string {
  if (!isKnown(ratio)) return ABSENT;
  return `${percentDigits(ratio * 100)}${SPACE}%`;
}

/** A configured share, without added digits: `0.5 %`. */
export function configuredPercent(ratio: MaybeNumber): string {
  return isKnown(ratio) ? `${Number((ratio * 100).toPrecision(6))}${SPACE}%` : ABSENT;
}

export function count(value: MaybeNumber): string {
  return isKnown(value) ? wholeNumber.format(value) : ABSENT;
}

/** A count for small places: `950`, `12.4k`, `3.1M`. */
export function shortCount(value: number): string {
  if (value < 1000) return String(Math.round(value));
  if (value < 999_500) return `${significant(value / 1000)}k`;
  return `${significant(value / 1_000_000)}M`;
}

/** A rate per second, or per minute or hour for low rates. */
export function rate(perSecond: MaybeNumber): string {
  if (!isKnown(perSecond)) return ABSENT;
  if (perSecond === 0) return "0/s";
  if (perSecond >= 1) return `${significant(perSecond)}/s`;
  if (perSecond * 60 >= 1) return `${significant(perSecond * 60)}/min`;
  return `${significant(perSecond * 3600)}/h`;
}

export function bytes(value: MaybeNumber): string {
  if (!isKnown(value)) return ABSENT;
  if (value < 1000) return `${value}${SPACE}B`;
  if (value < 999_500) return `${significant(value / 1000)}${SPACE}kB`;
  return `${significant(value / 1_000_000)}${SPACE}MB`;
}

/** Change of a duration: `12 % slower`. */
export function durationChange(now: MaybeNumber, before: MaybeNumber): string | null {
  if (!isKnown(now) || !isKnown(before) || before <= 0) return null;
  const change = (now - before) / before;
  if (Math.abs(change) < 0.015) return "unchanged";
  const share =
    Math.abs(change) < 1
      ? `${twoSignificant(Math.abs(change) * 100)}${SPACE}%`
      : `${twoSignificant(now / before)}×`;
  if (change >= 1) return `${share} as slow`;
  return `${share} ${change > 0 ? "slower" : "faster"}`;
}

/** Change of a share in percentage points: `+0.3 pp`. */
export function percentagePoints(now: MaybeNumber, before: MaybeNumber): string | null {
  if (!isKnown(now) || !isKnown(before)) return null;
  const change = (now - before) * 100;
  if (Math.abs(change) < 0.05) return "unchanged";
  return `${change > 0 ? "+" : "−"}${twoSignificant(Math.abs(change))}${SPACE}pp`;
}

/** Change of a count: `+12 %`. */
export function countChange(now: number, before: number): string | null {
  if (before <= 0) return null;
  const change = (now - before) / before;
  if (Math.abs(change) < 0.005) return "unchanged";
  if (change >= 9.995) return `${twoSignificant(now / before)}× as many`;
  return `${change > 0 ? "+" : "−"}${twoSignificant(Math.abs(change) * 100)}${SPACE}%`;
}

/** `23:05:09` in the chosen time zone. */
export function timeOfDay(unixMs: number): string {
  const { hours, minutes, seconds } = calendarTime(unixMs);
  return [hours, minutes, seconds].map(twoDigits).join(":");
}

/** The time of day, with the date if it is not today. */
export function dateTime(unixMs: number, today: number): string {
  return isSameDay(unixMs, today) ? timeOfDay(unixMs) : `${day(unixMs)}${SPACE}${timeOfDay(unixMs).slice(0, 5)}`;
}

/** The interval of a step: `12:40 – 12:42`, with the date if it is not today. A UTC day can span two local days. */
export function timeInterval(from: number, length: number, today: number): string {
  const [start, end] = [from, from + length].map((at) => timeOfDay(at).slice(0, 5));
  if (length >= 86_400_000)
    return start === "00:00" ? day(from) : `${day(from)}${SPACE}${start} – ${day(from + length)}${SPACE}${end}`;
  return `${isSameDay(from, today) ? "" : `${day(from)}, `}${start} – ${end}`;
}

export function day(unixMs: number): string {
  const at = calendarTime(unixMs);
  return `${at.day}${SPACE}${MONTHS[at.month]}`;
}

/** A range of any length: `12:40 – 13:05`, `24 Nov 23:30 – 25 Nov 00:15`. */
export function timeRange({ from, to }: { from: number; to: number }, today: number): string {
  const withDay = !isSameDay(from, today) || !isSameDay(to, today);
  const [start, end] = [from, to].map((at) => `${withDay ? `${day(at)}${SPACE}` : ""}${timeOfDay(at).slice(0, 5)}`);
  return isSameDay(from, to) ? `${start} – ${timeOfDay(to).slice(0, 5)}` : `${start} – ${end}`;
}

/** A name of the API as words: `first_byte` becomes `first byte`. */
export function humanize(name: string): string {
  return name.replaceAll("_", " ");
}

/** A name of the API as a heading: `First byte`. */
export function heading(name: string): string {
  const words = humanize(name);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The name of a dimension as words. An attribute has its key, unless that is the name of another dimension. */
export function dimensionLabel(dimension: string): string {
  if (!isAttribute(dimension)) return humanize(dimension);
  const key = keyOf(dimension);
  return humanize(key) + ((DIMENSIONS as readonly string[]).includes(key) ? " (attribute)" : "");
}

/** A source of server timing as text. */
export function sourceLabel(source: string): string {
  return source === "comment" ? "SSE comment" : humanize(source);
}

/** A confidence interval: `1.2 s – 1.9 s`, or `≥ 1.2 s` where few samples leave it open. `null` if it is absent. */
export function intervalText(
  interval: { lower_ms?: MaybeNumber; upper_ms?: MaybeNumber } | null | undefined,
): string | null {
  const { lower_ms: lower, upper_ms: upper } = interval ?? {};
  if (!isKnown(lower)) return null;
  return isKnown(upper) ? `${duration(lower)} – ${duration(upper)}` : `≥ ${duration(lower)}`;
}

/** A value of a dimension as text: a country by its name. */
export function valueLabel(dimension: string, value: string): string {
  if (dimension === "server_source") return sourceLabel(value);
  if (["dialect", "outcome", "defect"].includes(dimension)) return humanize(value);
  if (dimension !== "country" || !/^[A-Z]{2}$/.test(value)) return value;
  return countries.of(value) ?? value;
}

/** `1 stream`, `2,000 streams`. */
export function plural(value: number, singular: string, pluralForm = `${singular}s`): string {
  return `${count(value)} ${value === 1 ? singular : pluralForm}`;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

function significant(value: number): string {
  return trimZeros(threeDigits(value));
}

function threeDigits(value: number): string {
  if (value >= 99.95) return wholeNumber.format(value);
  const digits = value >= 9.995 ? 1 : value >= 0.995 ? 2 : 1;
  return value.toFixed(digits);
}

/** Changes show two digits, because both values have an error. */
function twoSignificant(value: number): string {
  return value >= 9.95 ? wholeNumber.format(value) : trimZeros(value.toFixed(1));
}

function percentDigits(value: number): string {
  if (value === 0 || value === 100) return String(value);
  if (value < 0.005) return "<0.01";
  if (value > 99.995) return ">99.99";
  const isNearAnEnd = value < 1 || value > 99;
  return value.toFixed(isNearAnEnd ? 2 : 1);
}

function trimZeros(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

function twoUnits(total: number, base: number, large: string, small: string): string {
  const rest = total % base;
  const head = `${Math.floor(total / base)}${SPACE}${large}`;
  return rest === 0 ? head : `${head} ${rest}${SPACE}${small}`;
}

function grouped(value: number, digits: number): string {
  const text = new Intl.NumberFormat("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return text.format(value).replace("-", "−");
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}
