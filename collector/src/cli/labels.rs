//! `llm-rum labels`: lists the label values of a site with their use, and drops values so that they make room for
//! others.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use crate::aggregate::dimension::{ConfiguredNames, Dimension};
use crate::config::Config;
use crate::store::deletion::LockedStore;
use crate::store::error::StoreError;
use crate::store::label_values::{self, LabelValues};
use crate::store::paths::STORE_FILE;
use crate::time::{DAY_MS, day_of, now_ms, rfc3339};

/// A value of a label, such as `model=gpt-5`.
#[derive(Debug, Clone)]
pub struct LabelValue {
    label: Dimension,
    value: String,
}

/// The label values of a site.
#[derive(Debug, Serialize)]
pub struct SiteLabels {
    site: String,
    /// By label, the values with the most streams first.
    labels: BTreeMap<&'static str, Vec<ListedValue>>,
    /// Values that were dropped now.
    dropped: Vec<String>,
}

#[derive(Debug, Serialize)]
struct ListedValue {
    value: String,
    /// Streams since the beginning.
    streams: u64,
    /// Day (UTC) of the last stream. Absent if it is not known, and for a dropped value.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_used: Option<String>,
    /// Whether it takes one of the places that `limits` counts.
    takes_place: bool,
}

/// Why values cannot be listed or dropped.
#[derive(Debug, thiserror::Error)]
pub enum LabelsError {
    /// The folder contains no store.
    #[error("{0} contains no store: name the data folder of a collector")]
    NoStore(PathBuf),
    /// A collector uses the folder.
    #[error("a collector uses the folder {0}: stop it, drop the values, and start it again")]
    InUse(PathBuf),
    /// There are no streams of this site.
    #[error("there are no streams of a site `{0}`")]
    UnknownSite(String),
    /// The site has no such value. Nothing was dropped.
    #[error("the site has no {label} `{value}`; nothing was dropped")]
    UnknownValue {
        /// Name of the label.
        label: &'static str,
        /// The value.
        value: String,
    },
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(StoreError),
}

/// A text that is no value of a label.
#[derive(Debug, thiserror::Error)]
#[error("write a label and a value, such as model=gpt-5; labels are {}", label_names())]
pub struct LabelValueError;

impl LabelValue {
    /// Parses a label and a value.
    ///
    /// # Errors
    /// If there is no such label, or no value.
    pub fn parse(text: &str) -> Result<Self, LabelValueError> {
        let (name, value) = text.split_once('=').ok_or(LabelValueError)?;
        let label = label_values::labels().find(|label| label.name() == name).ok_or(LabelValueError)?;
        if value.is_empty() { Err(LabelValueError) } else { Ok(Self { label, value: value.to_owned() }) }
    }
}

/// Drops values, and lists all values of the site. A collector may be using the folder if nothing is dropped.
///
/// # Errors
/// If there is no such site or value, or the folder cannot be read or written.
pub fn labels(config: &Config, site: &str, drop: &[LabelValue]) -> Result<SiteLabels, LabelsError> {
    let data = &config.data;
    if !data.join(STORE_FILE).exists() {
        return Err(LabelsError::NoStore(data.clone()));
    }
    if !drop.is_empty() {
        let store = LockedStore::open(data)?;
        let known = read(config, site)?;
        let unknown = drop.iter().find(|dropped| !known[&dropped.label].contains_key(&dropped.value));
        if let Some(LabelValue { label, value }) = unknown {
            return Err(LabelsError::UnknownValue { label: label.name(), value: value.clone() });
        }
        for LabelValue { label, value } in drop {
            label_values::drop_value(&store, site, *label, value)?;
        }
    }
    let (configured, today) = (ConfiguredNames::of(config), day_of(now_ms()));
    let listed = read(config, site)?.into_iter().map(|(label, values)| {
        let mut values: Vec<_> = values
            .into_iter()
            .map(|(value, used)| ListedValue {
                streams: used.streams,
                last_used: (used.used_day > 0).then(|| day_text(used.used_day)),
                takes_place: used.is_in_use(today) && !configured.has(site, label, &value),
                value,
            })
            .collect();
        values.sort_by_key(|value| Reverse(value.streams));
        (label.name(), values)
    });
    let dropped = drop.iter().map(|dropped| format!("{}={}", dropped.label.name(), dropped.value));
    Ok(SiteLabels { site: site.to_owned(), labels: listed.collect(), dropped: dropped.collect() })
}

fn read(config: &Config, site: &str) -> Result<LabelValues, LabelsError> {
    let values = label_values::read(&config.data, site)?;
    if values.is_empty() { Err(LabelsError::UnknownSite(site.to_owned())) } else { Ok(values) }
}

impl From<StoreError> for LabelsError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::InUse(folder) => Self::InUse(folder),
            error => Self::Store(error),
        }
    }
}

/// A day such as `2026-11-25`.
fn day_text(day: i64) -> String {
    let text = rfc3339(day * DAY_MS);
    text.split('T').next().unwrap_or_default().to_owned()
}

fn label_names() -> String {
    label_values::labels().map(Dimension::name).collect::<Vec<_>>().join(", ")
}
