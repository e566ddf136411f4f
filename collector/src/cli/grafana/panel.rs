//! Panels in Grafana's JSON format.

use serde_json::{Value, json};

/// Panels under one heading.
pub(super) struct Section {
    pub(super) title: &'static str,
    /// Grafana asks nothing for a collapsed section until the viewer opens it.
    pub(super) is_collapsed: bool,
    pub(super) panels: Vec<Panel>,
}

/// One panel.
pub(super) struct Panel {
    kind: Kind,
    title: String,
    about: String,
    /// Unit in Grafana's notation.
    unit: &'static str,
    width: u32,
    height: u32,
    base_colour: &'static str,
    /// Thresholds, each with the colour of the values from it on.
    bounds: Vec<(f64, &'static str)>,
    /// Text in place of a value, if a query has no result.
    no_value: Option<&'static str>,
    questions: Vec<Question>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Lines {
        stacked: bool,
    },
    /// The newest value on a scale.
    Gauge,
    /// The newest value as a number, with the trend behind it.
    Stat,
}

/// One query of a panel.
pub(super) struct Question {
    expr: String,
    legend: String,
    style: Style,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Data,
    /// A dashed line at a limit.
    Limit,
    /// Bars on an axis of their own, in requests per second.
    Volume,
}

/// A line chart over time.
pub(super) fn lines(title: &str, unit: &'static str, width: u32, questions: Vec<Question>) -> Panel {
    Panel::new(Kind::Lines { stacked: false }, title, unit, width, questions)
}

/// The newest value on a scale.
pub(super) fn gauge(title: &str, unit: &'static str, width: u32, question: Question) -> Panel {
    Panel::new(Kind::Gauge, title, unit, width, vec![question])
}

/// The newest values as numbers, with their trends.
pub(super) fn stat(title: &str, unit: &'static str, width: u32, questions: Vec<Question>) -> Panel {
    Panel::new(Kind::Stat, title, unit, width, questions)
}

/// A query and the name of its lines.
pub(super) fn asked(expr: String, legend: &str) -> Question {
    Question { expr, legend: legend.to_owned(), style: Style::Data }
}

/// A query for a limit.
pub(super) fn limit(expr: String, legend: &str) -> Question {
    Question { style: Style::Limit, ..asked(expr, legend) }
}

/// A query for requests per second behind the lines.
pub(super) fn volume(expr: String, legend: &str) -> Question {
    Question { style: Style::Volume, ..asked(expr, legend) }
}

impl Panel {
    fn new(kind: Kind, title: &str, unit: &'static str, width: u32, questions: Vec<Question>) -> Self {
        Self {
            kind,
            title: title.to_owned(),
            about: String::new(),
            unit,
            width,
            height: 8,
            base_colour: "green",
            bounds: Vec::new(),
            no_value: None,
            questions,
        }
    }

    pub(super) fn about(mut self, about: &str) -> Self {
        self.about = about.to_owned();
        self
    }

    pub(super) const fn stacked(mut self) -> Self {
        self.kind = Kind::Lines { stacked: true };
        self
    }

    /// Thresholds, each with the colour of the values from it on.
    pub(super) fn bounded(mut self, base_colour: &'static str, bounds: Vec<(f64, &'static str)>) -> Self {
        (self.base_colour, self.bounds) = (base_colour, bounds);
        self
    }

    pub(super) const fn or_text(mut self, no_value: &'static str) -> Self {
        self.no_value = Some(no_value);
        self
    }

    pub(super) const fn width(&self) -> u32 {
        self.width
    }

    pub(super) const fn height(&self) -> u32 {
        self.height
    }

    /// The panel with its id and its place.
    pub(super) fn json(&self, id: usize, at: &Value) -> Value {
        let mut defaults = json!({ "unit": self.unit, "thresholds": self.thresholds() });
        if let Kind::Lines { stacked } = self.kind {
            defaults["min"] = 0.into();
            defaults["custom"] = custom(stacked, !self.bounds.is_empty());
        }
        if let Some(text) = self.no_value {
            defaults["noValue"] = text.into();
        }
        json!({
            "id": id, "type": self.kind.name(), "title": self.title, "description": self.about, "gridPos": at,
            "datasource": datasource(),
            "targets": self.questions.iter().enumerate().map(target).collect::<Vec<_>>(),
            "fieldConfig": { "defaults": defaults, "overrides": self.overrides() },
            "options": self.kind.options(),
        })
    }

    fn thresholds(&self) -> Value {
        let mut bounds = self.bounds.clone();
        bounds.sort_by(|one, other| one.0.total_cmp(&other.0));
        // The first alert is the most severe, and would hide others with the same limit.
        bounds.dedup_by(|other, first| other.0 == first.0);
        let base = json!({ "color": self.base_colour, "value": null });
        let steps = bounds.iter().map(|(value, color)| json!({ "color": color, "value": value }));
        let steps: Vec<_> = [base].into_iter().chain(steps).collect();
        json!({ "mode": "absolute", "steps": steps })
    }

    fn overrides(&self) -> Vec<Value> {
        let of = |(at, question): (usize, &Question)| {
            let properties = question.style.properties()?;
            let matcher = json!({ "id": "byFrameRefID", "options": ref_id(at) });
            Some(json!({ "matcher": matcher, "properties": properties }))
        };
        self.questions.iter().enumerate().filter_map(of).collect()
    }
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Lines { .. } => "timeseries",
            Self::Gauge => "gauge",
            Self::Stat => "stat",
        }
    }

    fn options(self) -> Value {
        let newest = json!({ "calcs": ["lastNotNull"], "fields": "", "values": false });
        match self {
            Self::Lines { .. } => json!({
                "legend": { "displayMode": "list", "placement": "bottom", "showLegend": true, "calcs": [] },
                "tooltip": { "mode": "multi", "sort": "desc" },
            }),
            Self::Gauge => json!({
                "reduceOptions": newest, "orientation": "auto",
                "showThresholdLabels": true, "showThresholdMarkers": true,
            }),
            Self::Stat => json!({
                "reduceOptions": newest, "orientation": "auto", "textMode": "auto", "wideLayout": true,
                "colorMode": "value", "graphMode": "area", "justifyMode": "auto",
                "showPercentChange": true, "percentChangeColorMode": "standard",
            }),
        }
    }
}

impl Style {
    /// How such lines differ from the panel's others.
    fn properties(self) -> Option<Value> {
        match self {
            Self::Data => None,
            Self::Limit => Some(json!([
                { "id": "custom.lineStyle", "value": { "fill": "dash", "dash": [10, 10] } },
                { "id": "custom.fillOpacity", "value": 0 },
                { "id": "color", "value": { "mode": "fixed", "fixedColor": "red" } },
            ])),
            Self::Volume => Some(json!([
                { "id": "unit", "value": "reqps" },
                { "id": "custom.axisPlacement", "value": "right" },
                { "id": "custom.drawStyle", "value": "bars" },
                { "id": "custom.fillOpacity", "value": 20 },
                { "id": "custom.lineWidth", "value": 0 },
                { "id": "color", "value": { "mode": "fixed", "fixedColor": "text" } },
            ])),
        }
    }
}

fn custom(stacked: bool, has_bounds: bool) -> Value {
    json!({
        "drawStyle": "line", "lineWidth": 1, "fillOpacity": if stacked { 30 } else { 0 },
        "showPoints": "never", "spanNulls": false,
        "stacking": { "mode": if stacked { "normal" } else { "none" }, "group": "A" },
        "thresholdsStyle": { "mode": if has_bounds { "dashed" } else { "off" } },
    })
}

fn target((at, question): (usize, &Question)) -> Value {
    json!({
        "refId": ref_id(at), "datasource": datasource(), "expr": question.expr,
        "legendFormat": question.legend, "range": true, "instant": false, "editorMode": "code",
    })
}

fn ref_id(at: usize) -> String {
    format!("Q{at}")
}

/// The Prometheus that the viewer of the dashboard selects.
pub(super) fn datasource() -> Value {
    json!({ "type": "prometheus", "uid": "${DS_PROMETHEUS}" })
}

/// Columns of Grafana's grid.
pub(super) const COLUMNS: u32 = 24;
