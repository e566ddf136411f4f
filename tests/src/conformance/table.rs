//! Prints several runs as one table: a row for each check, a column for each SDK and engine.

use std::fmt;

use super::Row;
use crate::Engine;

/// Runs of the same checks, side by side.
#[derive(Default)]
pub struct Table {
    columns: Vec<(String, Engine, Vec<Row>)>,
}

impl Table {
    /// Adds a run as the next column.
    pub fn add(&mut self, sdk: &str, engine: Engine, rows: Vec<Row>) {
        self.columns.push((sdk.to_owned(), engine, rows));
    }

    /// Adds the columns of another table.
    pub fn append(&mut self, other: Self) {
        self.columns.extend(other.columns);
    }

    /// Counts of equal outcomes, run by run.
    #[must_use]
    pub fn sums(&self) -> String {
        let sum = |(sdk, engine, rows): &(String, Engine, Vec<Row>)| format!("{sdk}/{engine}: {}", sum(rows));
        self.columns.iter().map(sum).collect::<Vec<_>>().join(", ")
    }

    /// A description of every failed row.
    pub fn failures(&self) -> impl Iterator<Item = String> + '_ {
        self.columns.iter().flat_map(|(sdk, engine, rows)| {
            let broken = rows.iter().filter(|row| !row.holds());
            broken.map(move |row| {
                let Row { group, name, native, watched, expected, .. } = row;
                format!("{engine}, {sdk}: {group}: {name}\n  expected {expected}\n  native   {native}\n  watched  {watched}")
            })
        })
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((_, _, first)) = self.columns.first() else { return Ok(()) };
        write!(f, "{:<WIDTH$}", "check")?;
        for (sdk, engine, _) in &self.columns {
            write!(f, " {:<CELL$}", format!("{sdk}/{engine}"))?;
        }
        writeln!(f)?;
        for (at, row) in first.iter().enumerate() {
            write!(f, "{:<WIDTH$}", format!("{}: {}", row.group, row.name))?;
            for (_, _, rows) in &self.columns {
                write!(f, " {:<CELL$}", rows.get(at).map_or("", cell))?;
            }
            writeln!(f)?;
        }
        write!(f, "{:<WIDTH$}", "same as without the script, of the checks that apply")?;
        for (_, _, rows) in &self.columns {
            write!(f, " {:<CELL$}", sum(rows))?;
        }
        writeln!(f)
    }
}

fn sum(rows: &[Row]) -> String {
    let same = rows.iter().filter(|row| row.same).count();
    let offered = rows.iter().filter(|row| row.offered).count();
    format!("{same} of {offered}")
}

fn cell(row: &Row) -> &'static str {
    match row {
        Row { understood: false, .. } => "unknown engine",
        Row { offered: false, .. } => "-",
        Row { same: true, excused: true, .. } => "no longer known",
        Row { same: false, excused: true, .. } => "known",
        Row { same: false, .. } => "DIFFERS",
        Row { differs: true, .. } => "same (engine)",
        _ => "same",
    }
}

const WIDTH: usize = 84;
const CELL: usize = 18;
