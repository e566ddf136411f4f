/** Label, icon and meaning of each outcome. Definitions: `docs/metrics.md`. */
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
    meaning: "the end marker of its format was seen",
  },
  truncated: {
    label: "truncated",
    icon: "cut",
    tone: "bad",
    meaning: "closed cleanly without its end marker",
  },
  provider_error: {
    label: "provider error",
    icon: "bad",
    tone: "bad",
    meaning: "the provider sent an error inside the stream",
  },
  http_error: { label: "HTTP error", icon: "bad", tone: "bad", meaning: "status 400 or above" },
  network_error: {
    label: "network error",
    icon: "cut",
    tone: "bad",
    meaning: "the read failed and nobody had aborted it",
  },
  timeout: { label: "timeout", icon: "bad", tone: "bad", meaning: "aborted by a timeout signal" },
  empty: { label: "empty", icon: "none", tone: "bad", meaning: "a good status and not one event" },
  aborted: { label: "aborted", icon: "stop", tone: "quiet", meaning: "the app or the user cancelled it" },
  abandoned: { label: "abandoned", icon: "away", tone: "quiet", meaning: "the page went away first" },
  unobserved: {
    label: "unobserved",
    icon: "none",
    tone: "quiet",
    meaning: "read where the probe could not see it",
  },
};

export function OutcomeMark({ outcome, open }: { outcome: Outcome; open?: boolean }) {
  const style: OutcomeStyle = open
    ? { label: "open", icon: "open", tone: "quiet", meaning: "still arriving when last heard of" }
    : (OUTCOME_STYLES[outcome] ?? { label: outcome, icon: "none", tone: "quiet", meaning: outcome });
  return (
    <span class={`outcome ${style.tone}`} title={style.meaning}>
      <Icon name={style.icon} />
      <span>{style.label}</span>
    </span>
  );
}
