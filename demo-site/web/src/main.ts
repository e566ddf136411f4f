// The chat page: sends the user's prompt, shows the response, and below it the probe's measurements.
// Tests drive it by ids, `[data-llm-output]`, and `data-state` and `data-error` on the root element.
import { apis } from "./apis";
import type { LlmResponse } from "./apis/types";
import { el, find } from "./dom";
import { type LogEntry, measuredPanel, serverLine } from "./measured";
import { type ProbeState, type Report, watchProbe } from "./probe";

const root = document.documentElement;
const collector = root.dataset.collector ?? "";
const answers = find("#answers");
const prompt = find<HTMLTextAreaElement>("#prompt");
const send = find<HTMLButtonElement>("#send");
const stop = find<HTMLButtonElement>("#stop");
const scenario = find<HTMLSelectElement>("#scenario");
const api = find<HTMLSelectElement>("#api");

/** A prompt and its response on the page. */
class Turn {
  readonly article = el("article");
  private readonly output = el("div", { className: "bubble answer" });
  private readonly notes = el("div", { className: "notes" });
  private report?: Report;
  private logged?: LogEntry;

  constructor(question: string) {
    this.output.dataset.llmOutput = "";
    const setting = `${scenario.selectedOptions[0]?.text} · ${api.selectedOptions[0]?.text}`;
    this.article.append(
      el("div", { className: "bubble question", textContent: question }),
      el("p", { className: "setting", textContent: setting }),
      this.output,
      this.notes,
    );
  }

  write(text: string): void {
    this.output.append(text);
  }

  fail(message: string): void {
    this.notes.before(el("p", { className: "error", textContent: message }));
  }

  /** Shows the report and the log entry, which arrive in any order. */
  showMeasurements({ report = this.report, logged = this.logged }: { report?: Report; logged?: LogEntry }): void {
    this.report = report;
    this.logged = logged;
    const panel = report ? measuredPanel(report, collector) : el("aside", { className: "measured" });
    if (logged) panel.append(serverLine(logged, report));
    this.notes.replaceChildren(panel);
    scrollDown();
  }
}

/** The latest turn. The page has one stream at a time, so the probe's next report belongs to it. */
let current: Turn | undefined;
let stopNow = () => {};

async function ask(): Promise<void> {
  const question = prompt.value.trim();
  if (!question || root.dataset.state === "streaming") return;
  const turn = begin(question);
  const waiting = new AbortController();
  let stopped = false;
  let answer: LlmResponse | undefined;
  stopNow = () => {
    stopped = true;
    if (answer) answer.stop();
    else waiting.abort();
  };
  try {
    const base = `${location.origin}/llm/${scenario.value}`;
    const model = root.dataset.model ?? "";
    answer = await apis[api.value]?.({ base, model, prompt: question, signal: waiting.signal });
    for await (const text of answer?.texts ?? []) turn.write(text);
  } catch (error) {
    if (!stopped) {
      const message = messageOf(error);
      root.dataset.error = message;
      turn.fail(message);
    }
  } finally {
    finish();
  }
  await showLog(turn, answer?.seq ?? null);
}

function begin(question: string): Turn {
  const turn = new Turn(question);
  document.querySelector("#welcome")?.remove();
  answers.append(turn.article);
  current = turn;
  delete root.dataset.error;
  root.dataset.state = "streaming";
  send.disabled = true;
  stop.disabled = false;
  scrollDown();
  return turn;
}

/** The provider's message if the client library kept it. Otherwise the library's own, which may be a whole body. */
function messageOf(error: unknown): string {
  const inner = (error as { error?: { error?: { message?: unknown } } }).error?.error?.message;
  if (typeof inner === "string") return inner;
  return error instanceof Error ? error.message : String(error);
}

function finish(): void {
  root.dataset.state = "done";
  send.disabled = false;
  stop.disabled = true;
}

async function showLog(turn: Turn, seq: string | null): Promise<void> {
  if (seq === null) return;
  const response = await fetch(`/demo/log/wait?seq=${seq}&end=1&timeout_ms=5000`);
  if (!response.ok) return;
  const { entry } = (await response.json()) as { entry: LogEntry };
  turn.showMeasurements({ logged: entry });
}

/** Disables the APIs in which the chosen recording does not exist. */
function limitApis(): void {
  const only = scenario.selectedOptions[0]?.dataset.only;
  for (const option of api.options) option.disabled = only !== undefined && option.value !== only;
  if (only !== undefined) api.value = only;
}

function scrollDown(): void {
  answers.lastElementChild?.scrollIntoView({ block: "end" });
}

function suggest(name: string): HTMLElement {
  const option = [...scenario.options].find((option) => option.value === name);
  const button = el("button", { type: "button", textContent: option?.text ?? name });
  button.addEventListener("click", () => {
    scenario.value = name;
    limitApis();
    void ask();
  });
  return button;
}

find<HTMLFormElement>("#ask").addEventListener("submit", (event) => {
  event.preventDefault();
  void ask();
});
stop.addEventListener("click", () => stopNow());
scenario.addEventListener("change", limitApis);
prompt.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  void ask();
});
find("#suggestions").append(...["normal", "slow_first_token", "stall", "cut_clean", "buffered"].map(suggest));

const PROBE_STATE: Record<ProbeState, string> = {
  on: "The probe is watching",
  off: "No probe on this page",
  failed: "The probe did not load",
  refused: "The probe is watching, but the collector rejects its reports",
  lost: "The probe is watching, but its reports do not arrive",
  faulty: "The probe failed on this page",
};
const watch = find("#watch");
watchProbe(
  (report) => current?.showMeasurements({ report }),
  (state) => {
    watch.dataset.probe = state;
    watch.textContent = PROBE_STATE[state];
  },
  () => {
    root.dataset.accepted = "";
  },
);
