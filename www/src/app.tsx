/** The signals of `state.ts` in, the whole screen out. */
import { Banner } from "./banner";
import { Compare } from "./compare";
import { Detail } from "./detail";
import { Empty } from "./empty";
import { Header } from "./header";
import { Histogram } from "./histogram";
import { answers, hasData, isStale, screen, setMetric, view, type Answers } from "./state";
import { Streams } from "./streams";
import { Tiles } from "./tiles";
import { TtftChart } from "./ttft-chart";
import { Unlock } from "./unlock";
import { Verdict } from "./verdict";

export function App() {
  return (
    <div class="page">
      <Header />
      <Banner />
      <main class={isStale.value ? "stale" : undefined} aria-busy={isStale.value}>
        <Body />
      </main>
      {screen.value !== "locked" && <Detail />}
    </div>
  );
}

function Body() {
  const kept = answers.value;
  switch (screen.value) {
    case "locked":
      return <Unlock />;
    case "loading":
      return <p class="empty waiting">Asking the collector…</p>;
    case "empty":
      return <Empty />;
    case "ready":
      return kept && <Dashboard answers={kept} />;
    case "error":
      if (kept === null) return null;
      return hasData.value ? <Dashboard answers={kept} /> : <Empty />;
  }
}

function Dashboard({ answers: { summary, timeseries, histogram, compare, asked } }: { answers: Answers }) {
  const { range } = asked;
  const { metric } = view.value;
  return (
    <>
      <Verdict summary={summary} />
      <Tiles summary={summary} range={range} />
      <TtftChart series={timeseries} range={range} metric={metric} onMetric={setMetric} />
      <div class="pair">
        <Histogram answer={histogram} />
        <Compare answer={compare} from={summary.from} to={summary.to} />
      </div>
      <Streams summary={summary} />
    </>
  );
}
