//! Names of models as providers write them.

/// Removes the `models/` that only Gemini puts before a name.
pub(crate) fn bare(model: &str) -> &str {
    model.strip_prefix("models/").filter(|bare| !bare.is_empty()).unwrap_or(model)
}
