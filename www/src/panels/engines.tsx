/** Queue, load and caches of the inference engines over time, with the state of their last scrapes. */
import { useSignal } from "@preact/signals";

import type { Engines as EnginesAnswer } from "../api/schemas";
import { Figure, Loaded } from "../charts/figure";
import { TimeFigure } from "../charts/time-figure";
import { configuredPercent, count, percent, timeOfDay } from "../format";
import { engines } from "../state";
import { CACHE_LINES, cachePoints, REQUEST_LINES } from "./engine-lines";
import { DOCS } from "./header/menu";

const TITLE = "Inference engines";

/** Nothing if the collector scrapes no engine. */
export function Engines() {
  const { value: result } = engines;
  if (result.kind === "loading" || (result.kind === "known" && result.value.engines.length === 0)) return null;
  return (
    <Loaded chart="engines" title={TITLE} result={result}>
      {(answer) => <EngineFigures answer={answer} />}
    </Loaded>
  );
}

function EngineFigures({ answer }: { answer: EnginesAnswer }) {
  const chosen = useSignal("");
  const { models } = answer;
  const shown = models.find(({ model }) => model === chosen.value) ?? models[0];
  if (!shown)
    return (
      <Figure chart="engines" title={TITLE}>
        <p class="nothing">No figures of engines in this time range.</p>
        <Scrapes answer={answer} />
      </Figure>
    );
  const choice = (
    <label class="select">
      <span>Model</span>
      <select value={shown.model} onChange={(event) => (chosen.value = event.currentTarget.value)}>
        {models.map(({ model }) => (
          <option key={model}>{model}</option>
        ))}
      </select>
    </label>
  );
  return (
    <div class="pair">
      <TimeFigure
        chart="engines"
        title={TITLE}
        caption={shown.queue?.text}
        aside={choice}
        series={{ ...answer, points: shown.points }}
        lines={REQUEST_LINES}
        text={count}
      >
        <Scrapes answer={answer} />
      </TimeFigure>
      <TimeFigure
        chart="engine-caches"
        title="Caches and drafts of the engines"
        series={{ ...answer, points: cachePoints(shown.points) }}
        lines={CACHE_LINES}
        text={percent}
        tick={configuredPercent}
      />
    </div>
  );
}

function Scrapes({ answer: { engines } }: { answer: EnginesAnswer }) {
  return (
    <dl class="facts">
      {engines.map(({ engine, kind, scraped_ms: at, error }) => (
        <div key={engine}>
          <dt>
            {engine} ({kind})
          </dt>
          <dd class={error ? "bad" : undefined}>{error ?? (at ? `scraped ${timeOfDay(at)}` : "not scraped yet")}</dd>
        </div>
      ))}
      <div>
        <dt>Help</dt>
        <dd>
          <a href={`${DOCS}/engines.md`}>Engines</a>
        </dd>
      </div>
    </dl>
  );
}
