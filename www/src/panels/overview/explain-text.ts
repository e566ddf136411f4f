/** Sentences about what some streams have in common. */
import type { DimensionValue, Explanation, Finding } from "../../api/schemas";
import { configuredPercent, count, dateTime, dimensionLabel, isKnown, percent, plural, timeOfDay, valueLabel } from "../../format";

/** `release v42`. */
export function valueText({ dimension, value }: DimensionValue): string {
  return `${dimensionLabel(dimension)} ${valueLabel(dimension, value)}`;
}

/** `release v42 with browser firefox`. */
export const valuesText = (values: readonly DimensionValue[]): string => values.map(valueText).join(" with ");

/** A sentence for the verdict if one finding explains most of the affected streams, else nothing. */
export function clearFinding({ of, findings: [first] }: Explanation): string | null {
  if (!first || first.share_of_affected < MOST || first.affected < FEW) return null;
  const share = `${percent(first.share_of_affected)} of the ${of} streams are ${valuesText(first.values)}`;
  const { since_ms: since, until_ms: until } = first;
  if (!isKnown(since)) return `${share}.`;
  const time = isKnown(until) ? `From ${clock(since)} to ${clock(until)}` : `Since ${clock(since)}`;
  return `${time}, ${share}.${beganText(first)}`;
}

const clock = (at: number): string => timeOfDay(at).slice(0, 5);

/** ` Release v42 appeared then.`, or nothing. */
function beganText({ began_with: values }: Finding): string {
  if (values.length === 0) return "";
  const text = values.map(valueText).join(" and ");
  return ` ${text[0]?.toUpperCase()}${text.slice(1)} appeared then.`;
}

/** When a finding began and ended. */
export function timeText({ since_ms: since, until_ms: until }: Finding, today: number): string {
  if (!isKnown(since)) return "whole range";
  return isKnown(until)
    ? `${dateTime(since, today)} – ${timeOfDay(until).slice(0, 5)}`
    : `since ${dateTime(since, today)}`;
}

/** What was compared, and how sure the result is. */
export function explanationCaption(answer: Explanation, today: number): string {
  const { of, streams, affected, findings, kept_since_ms: since, confidence } = answer;
  const compared = `Compared: ${plural(streams, "stream")}, ${count(affected)} ${of}.`;
  const kept = isKnown(since) ? ` Only streams since ${dateTime(since, today)} count.` : "";
  const sure = ` If the streams did not differ, nothing would be listed in ${configuredPercent(confidence)} of the cases.`;
  const none = affected === 0 ? "" : " No value is more frequent among them than chance allows.";
  return compared + kept + (findings.length > 0 ? sure : none);
}

/** A finding below this share of the affected streams is not quoted beside the verdict. */
const MOST = 0.5;
const FEW = 20;
