//! Formats responses as CSV according to RFC 4180. Protects spreadsheets from formulas in label values.

use axum::Json;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::aggregate::metric::{Metric, Unit};
use crate::api::answer::percentiles::{KmAdjusted, Percentiles};
use crate::api::answer::quantile_values;
use crate::api::request::params::Format;

/// A response that contains a table.
pub(crate) trait Table: Serialize {
    /// Names of the columns, which do not depend on the rows.
    fn header(&self) -> Vec<String>;
    fn rows(&self) -> Vec<Vec<Cell>>;
}

/// One value of a row.
pub(crate) enum Cell {
    Empty,
    Whole(i64),
    Number(f64),
    Text(String),
}

impl From<u64> for Cell {
    fn from(count: u64) -> Self {
        Self::Whole(count.cast_signed())
    }
}

impl From<Option<f64>> for Cell {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Self::Empty, Self::Number)
    }
}

/// The response in the requested format.
pub(crate) fn answer(format: Format, table: impl Table) -> Response {
    match format {
        Format::Json => Json(table).into_response(),
        Format::Csv => {
            let headers = [
                (CONTENT_TYPE, "text/csv; charset=utf-8"),
                (CONTENT_DISPOSITION, "attachment; filename=\"llm-rum.csv\""),
            ];
            (headers, write(&table)).into_response()
        }
    }
}

/// Column names for percentiles of a metric.
pub(crate) fn percentile_columns(metric: Metric) -> impl Iterator<Item = String> {
    ["n".to_owned()].into_iter().chain(quantile_values::fields(metric.definition().unit))
}

/// Cells for [`percentile_columns`].
pub(crate) fn percentile_cells(of: &Percentiles) -> impl Iterator<Item = Cell> {
    [of.n.into()].into_iter().chain(of.values.iter().map(|(_, value)| value.into()))
}

/// Column names for Kaplan–Meier-adjusted percentiles.
pub(crate) fn km_adjusted_columns() -> impl Iterator<Item = String> {
    let values = quantile_values::fields(Unit::Milliseconds).map(|name| format!("km_adjusted_{name}"));
    values.chain(["abandoned", "failed_before"].map(str::to_owned))
}

/// Cells for [`km_adjusted_columns`]; empty for a metric without censored waits.
pub(crate) fn km_adjusted_cells(of: &Percentiles) -> Vec<Cell> {
    match &of.km_adjusted {
        Some(KmAdjusted { abandoned, failed_before, values }) => {
            let values = values.iter().map(|(_, value)| value.into());
            values.chain([(*abandoned).into(), (*failed_before).into()]).collect()
        }
        None => km_adjusted_columns().map(|_| Cell::Empty).collect(),
    }
}

fn write(table: &impl Table) -> String {
    let mut text = table.header().join(",") + "\r\n";
    for row in table.rows() {
        for (at, cell) in row.into_iter().enumerate() {
            if at > 0 {
                text.push(',');
            }
            match cell {
                Cell::Empty => {}
                Cell::Whole(value) => text.push_str(&value.to_string()),
                Cell::Number(value) => text.push_str(&value.to_string()),
                Cell::Text(value) => text.push_str(&quoted(&value)),
            }
        }
        text.push_str("\r\n");
    }
    text
}

/// Pages choose label values, and spreadsheets skip blanks and characters without width before a formula. So only a value
/// that begins with a letter, a digit or a slash is left as it is.
fn quoted(value: &str) -> String {
    let begins_plainly = value.starts_with(|first: char| first.is_alphanumeric() || first == '/');
    let guard = if begins_plainly || value.is_empty() { "" } else { "'" };
    format!("\"{guard}{}\"", value.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_quoted_and_no_formula() {
        assert_eq!(quoted("gpt-5"), "\"gpt-5\"");
        assert_eq!(quoted("a\"b,c"), "\"a\"\"b,c\"");
        assert_eq!(
            (quoted("/chat/:id"), quoted("日本"), quoted("")),
            ("\"/chat/:id\"".into(), "\"日本\"".into(), "\"\"".into())
        );
        for formula in [
            "=HYPERLINK(1)",
            "+1",
            "-1",
            "@SUM(1)",
            "\t=1",
            "\r=1",
            "\n=1",
            "＝1",
            "＠SUM(1)",
            " =1",
            "\u{a0}=1",
            "\u{200b}=1",
            "\u{feff}=1",
            "\u{2060}@SUM(1)",
            "\u{202e}=1",
            "|calc",
            "%=1",
        ] {
            assert_eq!(quoted(formula), format!("\"'{formula}\""));
        }
    }
}
