//! Fields of a report with their values, as rows.

/// Names of fields and as many values.
#[derive(Debug, Clone, Copy)]
pub struct FieldValues<'a, T> {
    /// The names, with white space between them.
    pub fields: &'static str,
    /// The values. Absent are a number that is NaN and a text that is empty.
    pub values: &'a [T],
}
