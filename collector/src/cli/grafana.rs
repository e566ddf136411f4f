//! `llm-rum grafana`: a Grafana dashboard over the Prometheus metrics, with the configured sites and a burn rate per
//! objective.

mod panels;

use serde_json::{Value, json};

use crate::config::Config;
use crate::export::prometheus::names;
use panels::{COLUMNS, Panel, datasource};

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
    variables
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

/// Arranges panels in rows from top to bottom, with the width that each one has.
fn placed(panels: &[Panel]) -> Vec<Value> {
    let (mut x, mut y, mut height) = (0, 0, 0);
    let place = |(id, panel): (usize, &Panel)| {
        if panel.begins_row() || x + panel.width() > COLUMNS {
            (x, y) = (0, y + height);
            height = 0;
        }
        let at = json!({ "x": x, "y": y, "w": panel.width(), "h": panel.height() });
        x += panel.width();
        height = height.max(panel.height());
        panel.json(id + 1, &at)
    };
    panels.iter().enumerate().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::targets::Targets;

    fn panels_of(config: &Config) -> Vec<Value> {
        grafana(config)["panels"].as_array().unwrap().clone()
    }

    #[test]
    fn no_panel_lies_over_another_and_each_has_its_number() {
        let panels = panels_of(&Config::default());
        let mut taken = std::collections::HashSet::new();
        for (id, panel) in panels.iter().enumerate() {
            assert_eq!(panel["id"], id + 1);
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
        config.targets.insert("triage \"night\"".to_owned(), targets);
        let dashboard = grafana(&config);
        let site = dashboard["templating"]["list"].as_array().unwrap().iter().find(|v| v["name"] == "site");
        assert_eq!(site.unwrap()["query"], "demo,shop");
        let titled = |title: &str| {
            let all = dashboard["panels"].as_array().unwrap();
            all.iter().find(|panel| panel["title"] == title).unwrap_or_else(|| panic!("{title}"))
        };
        let availability = titled("Availability budgets: burn rate").to_string();
        assert!(availability.contains(r#"use_case=\"triage \\\"night\\\"\""#), "{availability}");
        let integrity = titled("Integrity budgets: burn rate").to_string();
        assert!(integrity.contains("llm_rum_broken_streams_total{use_case="), "{integrity}");
        let speed = titled("Speed budgets: burn rate");
        assert!(speed["targets"].to_string().contains("triage"), "1.7 s has an edge of its own");
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
