/** Label, icon and meaning of each outcome. Definitions: `docs/outcomes.md`. */
import type { Outcome } from "../api/api-types";
import { Icon, type IconName } from "./icon";

interface OutcomeStyle {
  label: string;
  icon: IconName;
  /** CSS class of the colour. */
  tone: "good" | "warn" | "bad" | "quiet";
  meaning: string;
}

export const OUTCOME_STYLES: Record<Outcome, OutcomeStyle> = {
  complete: {
    label: "complete",
    icon: "good",
    tone: "good",
    meaning: "finished normally",
  },
  truncated: {
    label: "truncated",
    icon: "cut",
    tone: "bad",
    meaning: "connection closed without an end marker",
  },
  provider_error: {
    label: "provider error",
    icon: "bad",
    tone: "bad",
    meaning: "error event from the provider",
  },
  http_error: { label: "HTTP error", icon: "bad", tone: "bad", meaning: "HTTP status 400 or above" },
  network_error: {
    label: "network error",
    icon: "cut",
    tone: "bad",
    meaning: "connection lost mid-stream",
  },
  timeout: { label: "timeout", icon: "bad", tone: "bad", meaning: "aborted by a timeout signal" },
  empty: { label: "empty", icon: "none", tone: "bad", meaning: "HTTP 200 but no data" },
  aborted: { label: "aborted", icon: "stop", tone: "quiet", meaning: "cancelled by the app or the user" },
  abandoned: { label: "abandoned", icon: "away", tone: "quiet", meaning: "user closed or left the page" },
  unobserved: {
    label: "unobserved",
    icon: "none",
    tone: "quiet",
    meaning: "stream could not be inspected",
  },
};

/** The outcomes that are errors. */
export const ERRORS = (Object.keys(OUTCOME_STYLES) as Outcome[]).filter(
  (outcome) => OUTCOME_STYLES[outcome].tone === "bad",
);

export function OutcomeMark({ outcome, open }: { outcome: Outcome; open?: boolean }) {
  const style: OutcomeStyle = open
    ? { label: "open", icon: "open", tone: "quiet", meaning: "in flight at the last report" }
    : (OUTCOME_STYLES[outcome] ?? { label: outcome, icon: "none", tone: "quiet", meaning: outcome });
  return (
    <span class={`outcome ${style.tone}`} title={style.meaning}>
      <Icon name={style.icon} />
      <span>{style.label}</span>
    </span>
  );
}
