/** Grafana's types of a dashboard, for a literal of plain JSON. */
import type { AnnotationQuery, Dashboard, GraphFieldConfig, Panel, RowPanel } from "@grafana/schema";
import type { Options as GaugeOptions } from "@grafana/schema/dist/esm/raw/composable/gauge/panelcfg/x/GaugePanelCfg_types.gen";
import type { Options as StatOptions } from "@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen";
import type { Options as LinesOptions } from "@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen";

/** JSON has the values of an enum, where TypeScript wants its names. */
type Plain<T> = T extends string
  ? `${T}`
  : T extends (infer Item)[]
    ? Plain<Item>[]
    : T extends object
      ? { [Key in keyof T]: Plain<T[Key]> }
      : T;

/** What Grafana's Prometheus plugin reads of a query. */
interface PrometheusTarget {
  refId: string;
  datasource: { type: "prometheus"; uid: string };
  expr: string;
  legendFormat: string;
  range: boolean;
  instant: boolean;
  editorMode: "code" | "builder";
}

/** What Grafana's Prometheus plugin reads of an annotation, beside Grafana's own fields. */
interface PrometheusAnnotation extends AnnotationQuery {
  expr: string;
  step: string;
  titleFormat: string;
  textFormat: string;
  tagKeys: string;
  useValueForTime: boolean;
}

/** A panel with the options of its kind. Grafana fills in options that are left out. */
type PanelOf<Type extends string, Options, Custom> = Omit<Plain<Panel>, "type" | "options" | "targets" | "fieldConfig"> & {
  type: Type;
  options: Plain<Partial<Options>>;
  targets: PrometheusTarget[];
  fieldConfig: Omit<Plain<NonNullable<Panel["fieldConfig"]>>, "defaults"> & {
    defaults: Omit<Plain<NonNullable<Panel["fieldConfig"]>["defaults"]>, "custom"> & { custom?: Plain<Custom> };
  };
};

type KnownPanel =
  | PanelOf<"timeseries", LinesOptions, GraphFieldConfig>
  | PanelOf<"gauge", GaugeOptions, never>
  | PanelOf<"stat", StatOptions, never>;

type Row = Omit<Plain<RowPanel>, "panels"> & { panels: KnownPanel[] };

export type PrintedDashboard = Omit<Plain<Dashboard>, "panels" | "annotations"> & {
  panels: (KnownPanel | Row)[];
  annotations: { list: Plain<PrometheusAnnotation>[] };
};
