//! What the page said to `start()`: its options object comes in, typed facts for every report go
//! out. Defaults and addresses are the facade's.

use wasm_bindgen::{JsValue, UnwrapThrowExt};

use crate::page::member;

/// The same for every report of this page.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Options {
    /// What the app uses the model for.
    pub(crate) use_case: Option<&'static str>,
    /// Who serves the model; what the content proves goes before it.
    pub(crate) provider: Option<&'static str>,
    /// Release of the app.
    pub(crate) release: Option<&'static str>,
}

impl Options {
    /// Traps on a field that is no string: the facade then goes on with chunks only. What it reads stays
    /// as long as the module, which serves one session: reports borrow it.
    pub(crate) fn decode(options: &JsValue) -> Self {
        // Field by field: for a whole struct the decoder keeps a hash map of field names, and with it
        // the page loads 1.6 kB more.
        let field = |name: &str| {
            let text: Option<String> = serde_wasm_bindgen::from_value(member(options, name)).unwrap_throw();
            text.map(|text| &*text.leak())
        };
        Self { use_case: field("useCase"), provider: field("provider"), release: field("release") }
    }
}
