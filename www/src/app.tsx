/** Lays out the screen. */
import type { ComponentChildren } from "preact";

import { Histogram } from "./charts/histogram";
import { AbandonmentPanel } from "./panels/abandonment";
import { Banner } from "./panels/header/banner";
import { Breakdown } from "./panels/breakdown";
import { Budgets } from "./panels/overview/budgets";
import { Compare } from "./panels/compare";
import { Empty } from "./panels/overview/empty";
import { Engines } from "./panels/engines";
import { Explain } from "./panels/overview/explain";
import { Header } from "./panels/header/header";
import { Help } from "./panels/header/help";
import { InFlight } from "./panels/in-flight";
import { IngestAccounting } from "./panels/overview/ingest-accounting";
import { LiveStrip } from "./panels/overview/live-strip";
import { Login } from "./panels/header/login";
import { OutcomesAndDefects } from "./panels/outcomes";
import { OutputSpeed } from "./panels/output-speed";
import { Phases } from "./panels/phases";
import { Periods } from "./panels/periods";
import { Releases } from "./panels/releases";
import { Streams } from "./panels/streams";
import { Tiles } from "./panels/overview/tiles";
import { Throughput } from "./panels/throughput";
import { TtftChart } from "./panels/overview/ttft-chart";
import { UseCases } from "./panels/overview/use-cases";
import { Verdict } from "./panels/overview/verdict";
import {
  accounting,
  budgets,
  dashboardData,
  defaultMetric,
  explanation,
  hasData,
  isViewLoading,
  phases,
  releases,
  screen,
  view,
  type DashboardData,
} from "./state";
import { Detail } from "./stream/detail";

export function App() {
  return (
    <div class="page">
      <Header />
      {screen.value !== "locked" && screen.value !== "loading" && <LiveStrip />}
      <Banner />
      <main class={isViewLoading.value ? "stale" : undefined} aria-busy={isViewLoading.value}>
        <Content />
      </main>
      {screen.value !== "locked" && <Detail />}
      <Help />
    </div>
  );
}

function Content() {
  const data = dashboardData.value;
  switch (screen.value) {
    case "locked":
      return <Login />;
    case "loading":
      return <p class="empty waiting">Loading…</p>;
    case "empty":
      return <Empty />;
    case "ready":
      return data && <Dashboard data={data} />;
    case "error":
      if (data === null) return null;
      return hasData.value ? <Dashboard data={data} /> : <Empty />;
  }
}

function Dashboard({ data: { summary, view: loaded, metric: loadedMetric, loadedAt, ...charts } }: { data: DashboardData }) {
  const { range } = loaded;
  const { metric, chartType, compareTo, by, showsAllGroups } = view.value;
  return (
    <>
      <Layer title="Health">
        <div class="judgement">
          <Verdict summary={summary} />
          <Budgets result={budgets.value} />
        </div>
        <Explain result={explanation.value} />
        <Releases result={releases.value} />
        <UseCases summary={summary} />
        <Tiles
          summary={summary}
          range={range}
          compareTo={loaded.compareTo}
          compare={charts.compare}
          loadedAt={loadedAt}
        />
      </Layer>
      <Layer title="Percentiles">
        <TtftChart
          series={charts.timeseries}
          heatmap={charts.heatmap}
          range={range}
          metric={metric ?? defaultMetric.value}
          chartType={chartType}
          compareTo={compareTo}
          useCases={summary.use_cases}
        />
        <Periods summary={summary} result={charts.earlier} compareTo={loaded.compareTo} loadedAt={loadedAt} />
        <Phases result={phases.value} />
        <div class="pair">
          <Histogram answer={charts.histogram} />
          <Compare result={charts.compare} from={summary.from} to={summary.to} />
        </div>
        <div class="pair">
          <OutputSpeed result={charts.speed} />
          <Throughput summary={summary} series={charts.timeseries} />
        </div>
        <InFlight series={charts.timeseries} />
        <Engines />
        <AbandonmentPanel result={charts.abandonment} histogram={charts.histogram} />
        <Breakdown
          result={charts.breakdown}
          view={{ by: loaded.by, metric: loadedMetric }}
          by={by}
          showsAll={showsAllGroups}
        />
      </Layer>
      <Layer title="Errors">
        <OutcomesAndDefects summary={summary} />
        <Streams summary={summary} />
        <IngestAccounting result={accounting.value} />
      </Layer>
    </>
  );
}

/** One of the three layers of the screen. Its label is visible; assistive technology has it as the region's name. */
function Layer({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="layer" aria-label={title}>
      <p class="layer-title" aria-hidden="true">
        {title}
      </p>
      {children}
    </section>
  );
}
