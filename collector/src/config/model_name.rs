//! Names of models as providers write them.

/// Without the `models/` that Gemini alone puts before a name.
pub(crate) fn bare(model: &str) -> &str {
    model.strip_prefix("models/").filter(|bare| !bare.is_empty()).unwrap_or(model)
}
