/** Limits and ticks of log, linear and time axes, and the labels of times. */
import { day, timeOfDay } from "../format";
import { calendarTime, unixTime, type CalendarTime } from "../time-zone";

/** Multiples of 1, 2 and 5 of powers of ten within the limits, thinned to at most `most`. */
export function logTicks(low: number, high: number, most: number): number[] {
  if (!(low > 0) || !(high > low)) return [];
  const ladder = (steps: readonly number[]) => {
    const ticks: number[] = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
      for (const step of steps) {
        const tick = Number((step * 10 ** power).toPrecision(1));
        if (tick >= low * 0.9999 && tick <= high * 1.0001) ticks.push(tick);
      }
    }
    return ticks;
  };
  const candidates = [ladder([1, 2, 5]), ladder([1, 3]), ladder([1])];
  return candidates.find((ticks) => ticks.length <= most) ?? everyNth(candidates[2] ?? [], most);
}

/** Limits of a log axis: the next round values outside the data. */
export function logLimits(values: readonly number[]): [number, number] {
  const shown = values.filter((value) => value > 0 && Number.isFinite(value));
  if (shown.length === 0) return [100, 10_000];
  const low = roundDown(Math.min(...shown) * 0.9);
  const high = roundUp(Math.max(...shown) * 1.1);
  return low < high ? [low, high] : [low / 2, high * 2];
}

/** Round values from zero up. */
export function linearTicks(high: number, most: number): number[] {
  if (!(high > 0) || most < 1) return [0];
  const step = roundUp(high / most);
  const ticks: number[] = [];
  for (let tick = 0; tick <= high * 1.0001; tick += step) ticks.push(Number(tick.toPrecision(12)));
  return ticks;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const TIME_STEPS = [
  SECOND,
  5 * SECOND,
  15 * SECOND,
  30 * SECOND,
  MINUTE,
  2 * MINUTE,
  5 * MINUTE,
  10 * MINUTE,
  15 * MINUTE,
  30 * MINUTE,
  HOUR,
  2 * HOUR,
  3 * HOUR,
  6 * HOUR,
  12 * HOUR,
  DAY,
  2 * DAY,
  5 * DAY,
  10 * DAY,
  15 * DAY,
  30 * DAY,
];

/** Round times by the calendar of the chosen time zone, so that a clock change shifts no tick. */
export function timeTicks(from: number, to: number, most: number): { ticks: number[]; step: number } {
  const step = TIME_STEPS.find((width) => (to - from) / width <= most) ?? 30 * DAY;
  const first = calendarTime(from);
  const ticks: number[] = [];
  for (let days = 0; ; days += 1) {
    const date = { ...first, day: first.day + days };
    if (unixTime(date) > to) return { ticks, step };
    ticks.push(...ticksOf(date, step).filter((tick) => tick >= from && tick <= to));
  }
}

/** Ticks whose centred labels fit before `right`. A label at the end of the axis would be cut. */
export function ticksWithin(ticks: readonly number[], x: (tick: number) => number, right: number): number[] {
  return ticks.filter((tick) => x(tick) + HALF_LABEL_PX <= right);
}

/** Half the width of the longest label, `30 Nov`, in 12 px. */
const HALF_LABEL_PX = 20;

/** Ticks of one day. The day of the month can be after its end. */
function ticksOf(date: CalendarTime, step: number): number[] {
  const { year, month, day } = date;
  if (step >= DAY) return (Date.UTC(year, month, day) / DAY) % (step / DAY) === 0 ? [unixTime(date)] : [];
  const times = Array.from({ length: DAY / step }, (_, at) => unixTime(date, (at * step) / SECOND));
  // A skipped hour maps to the next hour, which is already in the list.
  return [...new Set(times)];
}

/** The time of day, or the date at midnight and for steps of days. `step` is the distance of two ticks. */
export function timeLabel(unixMs: number, step: number): string {
  const { hours, minutes } = calendarTime(unixMs);
  if (step >= DAY || (hours === 0 && minutes === 0)) return day(unixMs);
  return timeOfDay(unixMs).slice(0, 5);
}

function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 5, 10].find((candidate) => candidate * power >= value * 0.9999) ?? 10;
  return Number((step * power).toPrecision(1));
}

function roundDown(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [5, 2, 1].find((candidate) => candidate * power <= value * 1.0001) ?? 1;
  return Number((step * power).toPrecision(1));
}

function everyNth(ticks: number[], most: number): number[] {
  const nth = Math.ceil(ticks.length / Math.max(1, most));
  return ticks.filter((_, index) => index % nth === 0);
}
