//! The panels of the Grafana dashboard and their PromQL. `export/prometheus/names.rs` names the metrics.

use serde_json::{Value, json};

use crate::aggregate::metric::{Export, Metric, measured_by_default};
use crate::aggregate::own_edges::OwnEdges;
use crate::cli::prometheus_rules::{ELIGIBLE, profiles, rounded};
use crate::config::Config;
use crate::export::prometheus::names;
use crate::slo::error_budget::{BurnRateAlert, Objective};

/// A panel, or the heading of a row of panels.
pub(super) enum Panel {
    Row(&'static str),
    Lines(Lines),
}

/// A line chart over time.
pub(super) struct Lines {
    title: String,
    about: String,
    /// Unit in Grafana's notation.
    unit: &'static str,
    width: u32,
    stacked: bool,
    /// Thresholds, each with a colour.
    bounds: Vec<(f64, &'static str)>,
    questions: Vec<Question>,
}

struct Question {
    expr: String,
    legend: String,
}

/// All panels from top to bottom.
pub(super) fn all(config: &Config) -> Vec<Panel> {
    let mut panels = vec![Panel::Row("Latency")];
    panels.extend(waits());
    panels.push(Panel::Row("Outcomes"));
    panels.extend(endings());
    panels.push(Panel::Row("Browser vs. server"));
    panels.extend(sides());
    panels.push(Panel::Row("Error budgets"));
    panels.extend(budgets(config));
    panels.push(Panel::Row("Collector"));
    panels.extend(own());
    panels
}

/// Every metric that all probes measure, by use case.
fn waits() -> impl Iterator<Item = Panel> {
    measured_by_default().filter_map(|definition| {
        let (labels, export) = (definition.labels.as_ref()?, definition.export.as_ref()?);
        let at = |q: f64| asked(quantile(q, export, "use_case"), &format!("{{{{use_case}}}} p{}", q * 100.0));
        Some(Panel::Lines(lines(labels.title, "s", 8, vec![at(0.5), at(0.95)]).about(export.help)))
    })
}

fn endings() -> Vec<Panel> {
    let outcomes = format!("sum by (outcome) ({})", rate(names::STREAMS, ""));
    let defects = format!("sum by (defect) ({})", rate(names::DEFECTS, ""));
    let eligible = rate(names::STREAMS, &format!(",{ELIGIBLE}"));
    let failed = format!("sum by (use_case) ({}) / sum by (use_case) ({eligible})", rate(names::ERRORS, ""));
    let left = Metric::AbandonedTtfv.export();
    let leavers = format!("sum by (use_case) ({})", rate(&format!("{}_count", left.prometheus), ""));
    let tokens = format!("sum by (model) ({})", rate(names::TOKENS, ""));
    vec![
        lines("Streams by outcome", "reqps", 8, vec![asked(outcomes, "{{outcome}}")]).stacked(),
        lines("Error rate", "percentunit", 8, vec![asked(failed, "{{use_case}}")]).about(
            "Streams in which the service failed, as a share of eligible streams. Streams that users ended \
                    do not count.",
        ),
        lines("Streams with a defect", "reqps", 8, vec![asked(defects, "{{defect}}")]),
        lines("Streams abandoned before text", "reqps", 8, vec![asked(leavers, "{{use_case}}")]),
        lines(
            "Wait before abandonment",
            "s",
            8,
            vec![
                asked(quantile(0.5, left, "use_case"), "{{use_case}} p50"),
                asked(quantile(0.95, left, "use_case"), "{{use_case}} p95"),
            ],
        ),
        lines("Output tokens", "ops", 8, vec![asked(tokens, "{{model}}")])
            .about("Per second, as counted by providers."),
    ]
    .into_iter()
    .map(Panel::Lines)
    .collect()
}

fn sides() -> Vec<Panel> {
    let both = |q: f64| {
        let percentile = q * 100.0;
        vec![
            asked(quantile(q, Metric::Ttft.export(), ""), &format!("browser p{percentile}")),
            asked(quantile(q, Metric::ServerTtft.export(), ""), &format!("server p{percentile}")),
        ]
    };
    let over = |q: f64| {
        asked(quantile(q, Metric::Overhead.export(), "provider"), &format!("{{{{provider}}}} p{}", q * 100.0))
    };
    vec![
        lines("Time to first token, p50", "s", 8, both(0.5))
            .about("Server: streams with server timing only. Browser: all streams."),
        lines("Time to first token, p95", "s", 8, both(0.95)),
        lines("Network overhead", "s", 8, vec![over(0.5), over(0.95)])
            .about("Browser minus server time to first token, of the same stream."),
    ]
    .into_iter()
    .map(Panel::Lines)
    .collect()
}

/// Burn rates of all budgets. Above 1, the budget does not last its period.
fn budgets(config: &Config) -> Vec<Panel> {
    let mut panels = Vec::new();
    let own_edges = OwnEdges::of(config);
    for objective in Objective::ALL {
        let (mut questions, mut untold) = (Vec::new(), Vec::new());
        for mut profile in profiles(config) {
            let Some(target) = objective.share(&profile.targets) else { continue };
            profile.labels.push_str(",site=~\"$site\"");
            match profile.shares(objective, &own_edges) {
                Ok(shares) => {
                    let burn_rate = format!("({}) / {}", shares.over("1h"), rounded(1.0 - target));
                    // A use case may be any text, and Grafana replaces text in double braces.
                    let use_case = profile.use_case.replace("{{", "{ {");
                    questions.push(asked(burn_rate, &format!("{{{{site}}}} {use_case}")));
                }
                Err(no_rule) => untold.push(format!(" Left out: {no_rule}.")),
            }
        }
        if questions.is_empty() && untold.is_empty() {
            continue;
        }
        let mut word = objective.as_str().to_owned();
        word[..1].make_ascii_uppercase();
        let about = format!(
            "Burn rate over 1 hour. At 1, the budget is used up exactly at the end of its {} days.{}",
            config.budget_days(),
            untold.concat()
        );
        let bounds = BurnRateAlert::ALL.map(|alert| (alert.rate(config.budget_days()), colour(alert)));
        let mut panel = lines(&format!("{word} budgets: burn rate"), "short", 12, questions).about(&about);
        panel.bounds = bounds.into();
        panels.push(Panel::Lines(panel));
    }
    panels
}

fn colour(alert: BurnRateAlert) -> &'static str {
    match alert.severity.as_str() {
        "page" => "red",
        "incident" => "orange",
        _ => "yellow",
    }
}

fn own() -> Vec<Panel> {
    let of = |name: &str, label: &str| {
        let expr = format!("sum by ({label}) (rate({name}[$__rate_interval]))");
        vec![asked(expr, &format!("{{{{{label}}}}}"))]
    };
    let plain = |name: &str, what: &str| asked(name.to_owned(), &format!("{what} {{{{instance}}}}"));
    vec![
        lines("Beacons", "reqps", 8, of(names::BEACONS, "result")),
        lines("Reports", "reqps", 8, of(names::REPORTS, "result")),
        lines("Dropped by probes", "reqps", 8, of(names::DROPPED, "reason")),
        lines("Counted as `other`", "reqps", 8, of(names::LABEL_LIMIT_EXCEEDED, "label"))
            .about("A site has more values of a label than `limits` allows."),
        lines(
            "Store writable, live subscribers",
            "short",
            8,
            vec![plain(names::STORE_WRITABLE, "writable"), plain(names::LISTENERS, "subscribers")],
        ),
        lines("Replication lag", "s", 8, vec![plain(names::REPLICATION_LAG, "lag")])
            .about("Only for collectors that share a ClickHouse."),
    ]
    .into_iter()
    .map(Panel::Lines)
    .collect()
}

impl Panel {
    pub(super) const fn begins_row(&self) -> bool {
        matches!(self, Self::Row(_))
    }

    pub(super) const fn width(&self) -> u32 {
        match self {
            Self::Row(_) => COLUMNS,
            Self::Lines(Lines { width, .. }) => *width,
        }
    }

    pub(super) const fn height(&self) -> u32 {
        match self {
            Self::Row(_) => 1,
            Self::Lines(_) => 8,
        }
    }

    /// The panel in Grafana's JSON format.
    pub(super) fn json(&self, id: usize, at: &Value) -> Value {
        match self {
            Self::Row(title) => json!({
                "id": id, "type": "row", "title": title, "collapsed": false, "gridPos": at, "panels": [],
            }),
            Self::Lines(lines) => lines.json(id, at),
        }
    }
}

impl Lines {
    fn about(mut self, about: &str) -> Self {
        self.about = about.to_owned();
        self
    }

    const fn stacked(mut self) -> Self {
        self.stacked = true;
        self
    }

    fn json(&self, id: usize, at: &Value) -> Value {
        let target = |(at, question): (usize, &Question)| {
            json!({
                "refId": format!("Q{at}"), "datasource": datasource(), "expr": question.expr,
                "legendFormat": question.legend, "range": true, "instant": false, "editorMode": "code",
            })
        };
        let mut bounds = self.bounds.clone();
        bounds.sort_by(|one, other| one.0.total_cmp(&other.0));
        // The first alert is the most severe, and would hide others with the same limit.
        bounds.dedup_by(|other, first| other.0 == first.0);
        let base = json!({ "color": "green", "value": null });
        let steps = bounds.iter().map(|(value, color)| json!({ "color": color, "value": value }));
        let steps: Vec<_> = [base].into_iter().chain(steps).collect();
        json!({
            "id": id, "type": "timeseries", "title": self.title, "description": self.about, "gridPos": at,
            "datasource": datasource(),
            "targets": self.questions.iter().enumerate().map(target).collect::<Vec<_>>(),
            "fieldConfig": { "defaults": {
                "unit": self.unit, "min": 0,
                "custom": {
                    "drawStyle": "line", "lineWidth": 1, "fillOpacity": if self.stacked { 30 } else { 0 },
                    "showPoints": "never", "spanNulls": false,
                    "stacking": { "mode": if self.stacked { "normal" } else { "none" }, "group": "A" },
                    "thresholdsStyle": { "mode": if bounds.is_empty() { "off" } else { "dashed" } },
                },
                "thresholds": { "mode": "absolute", "steps": steps },
            }, "overrides": [] },
            "options": {
                "legend": { "displayMode": "list", "placement": "bottom", "showLegend": true },
                "tooltip": { "mode": "multi", "sort": "desc" },
            },
        })
    }
}

fn lines(title: &str, unit: &'static str, width: u32, questions: Vec<Question>) -> Lines {
    Lines {
        title: title.to_owned(),
        about: String::new(),
        unit,
        width,
        stacked: false,
        bounds: Vec::new(),
        questions,
    }
}

fn asked(expr: String, legend: &str) -> Question {
    Question { expr, legend: legend.to_owned() }
}

/// A percentile of a histogram by a label, or over all series if `by` is empty.
fn quantile(q: f64, export: &Export, by: &str) -> String {
    let labels = if by.is_empty() { "le".to_owned() } else { format!("le, {by}") };
    let buckets = rate(&format!("{}_bucket", export.prometheus), "");
    format!("histogram_quantile({q}, sum by ({labels}) ({buckets}))")
}

fn rate(name: &str, more: &str) -> String {
    format!("rate({name}{{{CHOSEN}{more}}}[$__rate_interval])")
}

const CHOSEN: &str = "site=~\"$site\",use_case=~\"$use_case\",provider=~\"$provider\",model=~\"$model\"";

/// The Prometheus that the viewer of the dashboard selects.
pub(super) fn datasource() -> Value {
    json!({ "type": "prometheus", "uid": "${DS_PROMETHEUS}" })
}

/// Columns of Grafana's grid.
pub(super) const COLUMNS: u32 = 24;
