/** Model of the abandonment curve: its reliable part, its SVG paths and its caption. */
import type { Abandonment, AbandonmentPoint, UnreadOutput } from "../api/api-types";
import type { WaitMetric } from "../api/metrics";
import { count, duration, isKnown, percent, plural } from "../format";

/** Below this number of streams at risk the curve is not reliable. */
export const MIN_AT_RISK = 10;

/** Points at which at least ten streams were still waiting after the previous point. */
export function trustedPoints({ at_risk, points }: Abandonment): AbandonmentPoint[] {
  return points.filter((_, at) => (points[at - 1]?.at_risk ?? at_risk) >= MIN_AT_RISK);
}

/** The last point at or before a wait. */
export function pointAt(points: readonly AbandonmentPoint[], waitMs: number): AbandonmentPoint | undefined {
  return points.findLast((point) => point.wait_ms <= waitMs);
}

const TOKEN_LABELS: Record<WaitMetric, string> = { ttfv: "first visible token", ttft: "first token" };

/** Caption: how many users gave up, and after which wait. */
export function abandonmentCaption(answer: Abandonment): string {
  const { at_risk, abandoned, failed_before, metric } = answer;
  if (at_risk === 0) return "No waits in this time range.";
  const share = percent(abandoned / at_risk);
  const users = abandoned === 0 ? "No user" : `${count(abandoned)} of ${plural(at_risk, "user")} (${share})`;
  const gaveUp = `${users} gave up before the ${TOKEN_LABELS[metric]}.`;
  const alsoFailed = failed_before > 0 && `${plural(failed_before, "stream")} failed before it.`;
  return [gaveUp, alsoFailed, abandoned > 0 && curveCaption(answer)].filter(Boolean).join(" ");
}

/** What the backend generated for users who had left, in all and by site. Empty if no backend tells it. */
export function unreadCaption({ unread_output: unread }: Abandonment): string {
  if (!unread || unread.client_gone === 0) return "";
  const { share, tokens_after_gone: tokens, client_gone: gone, client_gone_counted: counted, users_left } = unread;
  const left = `${plural(users_left, "user")} left before the end by the browser, ${count(gone)} by the backend.`;
  if (!isKnown(share)) return `${left} The backend did not count what it generated after that.`;
  const known = counted < gone ? ` (counted for ${count(counted)} of ${plural(gone, "user")})` : "";
  const all = `It generated ${plural(tokens, "token")}, ${percent(share)} of all, for users who had left${known}.`;
  return [left, all, sitesCaption(unread)].filter(Boolean).join(" ");
}

/** The sites with the largest shares, if there are several. */
function sitesCaption({ sites }: UnreadOutput): string {
  const shares = sites.flatMap(({ site, share }) => (isKnown(share) ? [{ site, share }] : []));
  if (shares.length < 2) return "";
  shares.sort((a, b) => b.share - a.share);
  const named = shares.slice(0, MOST_SITES).map(({ site, share }) => `${site} ${percent(share)}`);
  const rest = shares.length - named.length;
  return `By site: ${named.join(", ")}${rest > 0 ? ` and ${count(rest)} more` : ""}.`;
}

const MOST_SITES = 5;

function curveCaption(answer: Abandonment): string {
  const points = trustedPoints(answer);
  const tenth = points.find(({ share }) => share >= 0.1);
  if (tenth) return `10\u00a0% of users give up after ${duration(tenth.wait_ms)} without a token.`;
  const last = points.at(-1);
  return last ? `${percent(last.share)} of users give up after ${duration(last.wait_ms)} without a token.` : "";
}

export interface Scale {
  x: (waitMs: number) => number;
  y: (share: number) => number;
}

/** The curve as an SVG path with steps. */
export function stepPath(points: readonly AbandonmentPoint[], { x, y }: Scale, from: number): string {
  const steps = points.map(({ wait_ms, share }) => `H${round(x(wait_ms))}V${round(y(share))}`);
  return `M${round(from)} ${round(y(0))}${steps.join("")}`;
}

/** The confidence band as an SVG path; empty if no point has an interval. */
export function bandPath(points: readonly AbandonmentPoint[], { x, y }: Scale): string {
  const known = points.filter(({ lower, upper }) => lower != null && upper != null);
  const first = known[0];
  if (!first) return "";
  const start = round(x(first.wait_ms));
  const over = known.map(({ wait_ms, upper }) => `H${round(x(wait_ms))}V${round(y(upper ?? 0))}`);
  const back = known
    .map(({ lower }, at) => [lower ?? 0, known[at + 1]?.wait_ms ?? known.at(-1)?.wait_ms ?? 0] as const)
    .reverse()
    .map(([lower, until]) => `H${round(x(until))}V${round(y(lower))}`);
  return `M${start} ${round(y(first.upper ?? 0))}${over.join("")}${back.join("")}H${start}Z`;
}

/** Upper end of the share axis, rounded up to a round value. */
export function topShare(points: readonly AbandonmentPoint[]): number {
  const high = Math.max(0, ...points.map(({ share, upper }) => Math.max(share, upper ?? 0)));
  const step = high > 0.5 ? 0.25 : high > 0.1 ? 0.1 : 0.02;
  return Math.min(1, Math.max(step, Math.ceil(high / step - 1e-9) * step));
}

function round(pixels: number): number {
  return Math.round(pixels * 10) / 10;
}
