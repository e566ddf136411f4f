//! What the page said to `start()`: a JavaScript object comes in, typed facts for every report go
//! out. Defaults and addresses are the facade's.

use serde::Deserialize;

/// The same for every report of this page. A field that is no string of at most [`MAX_BYTES`] is
/// refused by the facade, so that a typo is seen where it was made.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Options {
    /// What the app uses the model for.
    pub(crate) use_case: Option<String>,
    /// Who serves the model; what the content proves goes before it.
    pub(crate) provider: Option<String>,
    /// Release of the app.
    pub(crate) release: Option<String>,
}
