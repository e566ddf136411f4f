/** The signals of `state.ts` in, the whole screen out. */
import { Banner } from "./panels/banner";
import { Books } from "./panels/ingest-accounting";
import { Breakdown } from "./panels/breakdown";
import { Budgets } from "./panels/budgets";
import { Compare } from "./panels/compare";
import { Detail } from "./stream/detail";
import { Empty } from "./panels/empty";
import { Endings } from "./panels/outcomes";
import { Header } from "./panels/header";
import { Histogram } from "./charts/histogram";
import { Leaving } from "./panels/abandonment";
import { LiveStrip } from "./panels/live-strip";
import { accounting, dashboardData, budgets, hasData, isViewLoading, screen, view, type DashboardData } from "./state";
import { Streams } from "./panels/streams";
import { Tiles } from "./panels/tiles";
import { TtftChart } from "./panels/ttft-chart";
import { Unlock } from "./panels/login";
import { Verdict } from "./panels/verdict";

export function App() {
  return (
    <div class="page">
      <Header />
      {screen.value !== "locked" && screen.value !== "loading" && <LiveStrip />}
      <Banner />
      <main class={isViewLoading.value ? "stale" : undefined} aria-busy={isViewLoading.value}>
        <Body />
      </main>
      {screen.value !== "locked" && <Detail />}
    </div>
  );
}

function Body() {
  const kept = dashboardData.value;
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

function Dashboard({ answers: { summary, view: asked, loadedAt: at, ...charts } }: { answers: DashboardData }) {
  const { range } = asked;
  const { metric, chartType, by, showsAllGroups } = view.value;
  return (
    <>
      <div class="judgement">
        <Verdict summary={summary} />
        <Budgets asked={budgets.value} />
      </div>
      <Tiles summary={summary} range={range} compare={charts.compare} at={at} />
      <TtftChart
        series={charts.timeseries}
        heatmap={charts.heatmap}
        range={range}
        metric={metric}
        drawing={chartType}
        useCases={summary.use_cases}
      />
      <div class="pair">
        <Histogram answer={charts.histogram} />
        <Compare answer={charts.compare} from={summary.from} to={summary.to} />
      </div>
      <Leaving answer={charts.abandonment} histogram={charts.histogram} />
      <Breakdown answer={charts.breakdown} asked={asked} by={by} isLong={showsAllGroups} />
      <Endings summary={summary} />
      <Streams summary={summary} />
      <Books asked={accounting.value} />
    </>
  );
}
