//! Fields of a report with their values, as rows.

/// Names of fields and as many values.
#[derive(Debug, Clone, Copy)]
pub struct FieldValues<Values> {
    /// The names, with white space between them.
    pub fields: &'static str,
    /// The values. A number that is absent is `None`, such a text is empty.
    pub values: Values,
}
