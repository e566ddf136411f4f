//! `llm-rum grafana`: a Grafana dashboard over the Prometheus metrics, with the configured sites and a burn rate per
//! objective.

mod engines;
mod panel;
mod panels;
mod promql;
mod targets;
mod throughput;

use serde_json::{Value, json};

use crate::config::Config;
use crate::export::prometheus::names;
use panel::{COLUMNS, Panel, Section, datasource};
use promql::{IN_FLIGHT_CAP, QUEUE_CAP};

/// The dashboard as JSON for Grafana's import. Its variable `DS_PROMETHEUS` selects the Prometheus data
/// source.
#[must_use]
pub fn grafana(config: &Config) -> Value {
    json!({
        "uid": "llm-rum",
        "title": "llm-rum",
        "description": "Real-user monitoring of streaming LLM responses. Definitions of the metrics: docs/metrics.md.",
        "tags": ["llm-rum"],
        "schemaVersion": 39,
        "editable": true,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": { "from": "now-6h", "to": "now" },
        "annotations": { "list": annotations() },
        "templating": { "list": variables(config) },
        "panels": placed(&panels::all(config)),
    })
}

fn variables(config: &Config) -> Vec<Value> {
    let mut variables = vec![json!({
        "name": "DS_PROMETHEUS", "label": "Prometheus", "type": "datasource", "query": "prometheus",
        "options": [], "regex": "", "refresh": 1, "hide": 0, "multi": false, "includeAll": false,
    })];
    let sites: Vec<_> = config.sites.iter().map(|site| site.name.as_str()).collect();
    variables.push(chosen("site", json!({ "type": "custom", "query": sites.join(",") })));
    for label in ["use_case", "provider", "model"] {
        let query = format!("label_values({}, {label})", names::REQUESTS);
        variables.push(chosen(
            label,
            json!({
                "type": "query", "datasource": datasource(),
                "query": { "qryType": 1, "query": query, "refId": "values" }, "refresh": 2, "sort": 1,
            }),
        ));
    }
    variables.push(typed(IN_FLIGHT_CAP, "In-flight cap"));
    variables.push(typed(QUEUE_CAP, "Queue cap"));
    variables
}

/// A number that the viewer types. At first it is no number, which draws no line.
fn typed(name: &str, label: &str) -> Value {
    json!({
        "name": name, "label": label, "type": "textbox", "query": "NaN", "hide": 0,
        "current": { "selected": true, "text": "NaN", "value": "NaN" },
        "options": [{ "selected": true, "text": "NaN", "value": "NaN" }],
    })
}

/// Marks on all charts: alerts that fire, in the Prometheus that has the rules of `llm-rum rules` and `deploy/alerts.yml`.
fn annotations() -> Vec<Value> {
    vec![json!({
        "name": "Alerts", "datasource": datasource(), "enable": true, "hide": false, "iconColor": "red",
        "expr": "ALERTS{alertname=~\"LlmRum.+\",alertstate=\"firing\"}", "step": "60s",
        "titleFormat": "{{alertname}}", "textFormat": "{{site}} {{use_case}} {{objective}} {{over}}",
        "tagKeys": "severity,site,use_case", "useValueForTime": false,
    })]
}

/// A multi-value variable with all values selected at first.
fn chosen(label: &str, mut variable: Value) -> Value {
    variable["name"] = label.into();
    variable["label"] = label.replace('_', " ").into();
    for (name, value) in [("multi", true), ("includeAll", true)] {
        variable[name] = value.into();
    }
    // Missing labels are `unknown`, never empty, so this matches every series.
    variable["allValue"] = ".*".into();
    variable["current"] = json!({ "selected": true, "text": ["All"], "value": ["$__all"] });
    variable["options"] = json!([]);
    variable
}

/// Arranges sections from top to bottom. The panels of a collapsed section are inside of its heading.
fn placed(sections: &[Section]) -> Vec<Value> {
    let (mut y, mut id, mut all) = (0, 0, Vec::new());
    for section in sections {
        id += 1;
        let heading_id = id;
        let (panels, height) = in_rows(&section.panels, &mut id, y + 1);
        let at = json!({ "x": 0, "y": y, "w": COLUMNS, "h": 1 });
        let mut heading = json!({
            "id": heading_id, "type": "row", "title": section.title, "collapsed": section.is_collapsed,
            "gridPos": at, "panels": [],
        });
        y += 1;
        if section.is_collapsed {
            heading["panels"] = panels.into();
            all.push(heading);
        } else {
            y += height;
            all.push(heading);
            all.extend(panels);
        }
    }
    all
}

/// Arranges panels in rows, with the width that each one has. Returns them with the height of all rows.
fn in_rows(panels: &[Panel], id: &mut usize, top: u32) -> (Vec<Value>, u32) {
    let (mut x, mut y, mut height) = (0, top, 0);
    let place = |panel: &Panel| {
        if x + panel.width() > COLUMNS {
            (x, y) = (0, y + height);
            height = 0;
        }
        let at = json!({ "x": x, "y": y, "w": panel.width(), "h": panel.height() });
        x += panel.width();
        height = height.max(panel.height());
        *id += 1;
        panel.json(*id, &at)
    };
    let placed = panels.iter().map(place).collect();
    (placed, y + height - top)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::targets::Targets;

    /// All panels, with those of collapsed sections after their headings.
    fn panels_of(config: &Config) -> Vec<Value> {
        let panels = grafana(config)["panels"].as_array().unwrap().clone();
        let inner = |panel: &Value| panel["panels"].as_array().cloned().unwrap_or_default();
        panels.into_iter().flat_map(|panel| [panel.clone()].into_iter().chain(inner(&panel))).collect()
    }

    #[test]
    fn no_panel_lies_over_another_and_each_has_its_number() {
        for (id, panel) in panels_of(&Config::default()).iter().enumerate() {
            assert_eq!(panel["id"], id + 1);
        }
        let mut taken = std::collections::HashSet::new();
        for panel in grafana(&Config::default())["panels"].as_array().unwrap() {
            let [x, y, w, h] = ["x", "y", "w", "h"].map(|name| panel["gridPos"][name].as_u64().unwrap());
            assert!(x + w <= u64::from(COLUMNS), "{panel}");
            for cell in (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y))) {
                assert!(taken.insert(cell), "{panel}");
            }
        }
    }

    #[test]
    fn every_query_goes_to_the_chosen_prometheus() {
        for panel in panels_of(&Config::default()) {
            if panel["type"] == "row" {
                continue;
            }
            assert_eq!(panel["datasource"], datasource());
            let targets = panel["targets"].as_array().unwrap();
            assert!(!targets.is_empty());
            let ids: std::collections::HashSet<_> = targets.iter().map(|t| t["refId"].to_string()).collect();
            assert_eq!(ids.len(), targets.len());
            for target in targets {
                assert_eq!(target["datasource"], datasource());
                assert!(!target["expr"].as_str().unwrap().is_empty() && target["legendFormat"].is_string());
            }
        }
    }

    #[test]
    fn configured_sites_and_targets_are_in_the_dashboard() {
        let mut config = Config::default();
        let mut other = config.sites[0].clone();
        other.name = "shop".into();
        config.sites.push(other);
        let targets = Targets {
            availability: Some(0.9),
            ttft_p95_ms: Some(1_700.0),
            speed: Some(0.99),
            integrity: Some(0.95),
            ..Targets::default()
        };
        config.targets.insert("triage \"night\"".to_owned(), targets.into());
        let dashboard = grafana(&config);
        let site = dashboard["templating"]["list"].as_array().unwrap().iter().find(|v| v["name"] == "site");
        assert_eq!(site.unwrap()["query"], "demo,shop");
        let titled = |title: &str| {
            let all = panels_of(&config);
            all.into_iter().find(|panel| panel["title"] == title).unwrap_or_else(|| panic!("{title}"))
        };
        let availability = titled("Availability budgets: burn rate").to_string();
        assert!(availability.contains(r#"use_case=\"triage \\\"night\\\"\""#), "{availability}");
        let integrity = titled("Integrity budgets: burn rate").to_string();
        assert!(integrity.contains("llm_rum_broken_streams_total{use_case="), "{integrity}");
        let speed = titled("Speed budgets: burn rate");
        assert!(speed["targets"].to_string().contains("triage"), "1.7 s has an edge of its own");
    }

    #[test]
    fn the_first_panel_has_percentiles_targets_and_volume() {
        let panels = panels_of(&Config::default());
        let first = panels.iter().find(|panel| panel["type"] == "timeseries").unwrap();
        assert_eq!(
            (&first["title"], &first["gridPos"]["w"]),
            (&"Time to first visible token".into(), &24.into())
        );
        let targets = first["targets"].as_array().unwrap();
        let legends: Vec<_> = targets.iter().map(|target| target["legendFormat"].as_str().unwrap()).collect();
        assert_eq!(legends[..4], ["p50", "p90", "p95", "p99"].map(|p| format!("{{{{use_case}}}} {p}")));
        let limits: Vec<_> =
            targets.iter().filter(|target| target["legendFormat"] == "{{use_case}} p95 target").collect();
        // Chat, coding and extraction have one.
        assert_eq!(limits.len(), 3);
        let chat = limits[0]["expr"].as_str().unwrap();
        assert!(chat.contains("use_case=\"chat\"") && chat.ends_with(" + 2"), "{chat}");
        assert_eq!(legends.last(), Some(&"requests"));
        let overrides = first["fieldConfig"]["overrides"].as_array().unwrap();
        let last = overrides.last().unwrap();
        assert_eq!(last["matcher"]["options"], targets.last().unwrap()["refId"]);
        assert!(last["properties"].to_string().contains("\"right\""), "{last}");
    }

    #[test]
    fn a_site_with_own_targets_has_lines_of_its_own() {
        let mut config = Config::default();
        let targets = Targets { tpot_ms: Some(25.0), ..Targets::default() };
        config.sites[0].targets.insert("chat".to_owned(), targets.into());
        let rates = panels_of(&config)
            .into_iter()
            .find(|panel| panel["title"] == "Output tokens per second of a stream")
            .unwrap();
        let of = |legend: &str| {
            let all = rates["targets"].as_array().unwrap();
            let found = all.iter().filter(|target| target["legendFormat"] == legend);
            found.map(|target| target["expr"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let [own, others] = &of("{{site}} {{use_case}} target")[..] else { panic!("{rates}") };
        assert!(own.contains("site=\"demo\"") && own.ends_with(" + 40"), "{own}");
        assert!(others.contains("site!~\"demo\"") && others.ends_with(" + 12.5"), "{others}");
        assert_eq!(of("{{use_case}} target").len(), 3);
    }

    #[test]
    fn a_reading_speed_between_two_buckets_is_named() {
        let config = Config { reading_speeds: vec![5.0, 7.0], ..Config::default() };
        let panels = panels_of(&config);
        let slower = panels.iter().find(|panel| panel["title"] == "Streams no faster than reading").unwrap();
        assert_eq!(slower["targets"].as_array().unwrap().len(), 1);
        assert!(slower["description"].as_str().unwrap().contains("Left out: 7 tokens/s"), "{slower}");
    }

    #[test]
    fn no_burn_rate_threshold_is_below_one() {
        let mut config = Config::default();
        config.slo.days = 7;
        let panels = panels_of(&config);
        let speed = panels.iter().find(|panel| panel["title"] == "Speed budgets: burn rate").unwrap();
        let steps = speed["fieldConfig"]["defaults"]["thresholds"]["steps"].as_array().unwrap();
        let steps: Vec<_> = steps.iter().map(|step| (step["value"].as_f64(), &step["color"])).collect();
        let rate = |value: f64| Some((value * 100.0).round() / 100.0);
        let steps: Vec<_> =
            steps.iter().map(|(value, color)| (value.and_then(rate), color.as_str())).collect();
        let expected = [
            (None, Some("green")),
            (Some(1.0), Some("orange")),
            (Some(1.4), Some("red")),
            (Some(3.36), Some("red")),
        ];
        assert_eq!(steps, expected);
    }
}
