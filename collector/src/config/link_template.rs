//! Templates of addresses of a stream in other tools: of its trace, its log, its replay.

use serde::Deserialize;

/// The address of a stream in another tool, with places for ids: `https://tempo.example/trace/{trace_id}`.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub struct LinkTemplate(String);

/// The ids of a stream, by the names of their places. Absent ones are `None`.
pub(crate) type StreamIds<'a> = [(&'static str, Option<&'a str>); 3];

impl LinkTemplate {
    /// Why it is no template. `None`: it is one.
    pub(super) fn problem(&self) -> Option<&'static str> {
        let Self(template) = self;
        if !(template.starts_with("https://") || template.starts_with("http://")) {
            return Some("does not begin with `https://` or `http://`");
        }
        let places: Vec<_> = PLACES.iter().filter(|place| template.contains(&in_braces(place))).collect();
        let braces = template.matches(['{', '}']).count();
        if places.is_empty()
            || braces
                != 2 * places.iter().map(|place| template.matches(&in_braces(place)).count()).sum::<usize>()
        {
            return Some("has no place for an id, or an unknown one");
        }
        (template.len() > LONGEST).then_some("is longer than 1,024 bytes")
    }

    /// The address of a stream with these ids. `None` if one that it needs is absent.
    pub(crate) fn filled(&self, ids: &StreamIds<'_>) -> Option<String> {
        let mut address = self.0.clone();
        for (place, id) in ids {
            let place = in_braces(place);
            if address.contains(&place) {
                address = address.replace(&place, &percent_encoded((*id)?));
            }
        }
        Some(address)
    }
}

/// The ids that a template may have places for.
pub(crate) const PLACES: [&str; 3] = ["trace_id", "response_id", "stream_id"];

fn in_braces(place: &str) -> String {
    format!("{{{place}}}")
}

/// Ids come from servers: no character of one may change the rest of an address.
fn percent_encoded(id: &str) -> String {
    let encoded = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    id.bytes().map(encoded).collect()
}

const LONGEST: usize = 1_024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_the_ids_of_the_stream() {
        let template = LinkTemplate("https://logs.example/?trace={trace_id}&id={response_id}".into());
        let ids = |trace_id| [("trace_id", trace_id), ("response_id", Some("resp/1#a")), ("stream_id", None)];
        let filled = template.filled(&ids(Some("4bf92f3577b34da6a3ce929d0e0e4736")));
        let expected = "https://logs.example/?trace=4bf92f3577b34da6a3ce929d0e0e4736&id=resp%2F1%23a";
        assert_eq!(filled.as_deref(), Some(expected));
        assert_eq!(template.filled(&ids(None)), None);
    }

    #[test]
    fn a_template_is_an_address_with_known_places() {
        for (template, is_valid) in [
            ("https://a.example/{trace_id}", true),
            ("http://localhost:16686/trace/{trace_id}?s={stream_id}", true),
            ("javascript:alert('{trace_id}')", false),
            ("https://a.example/", false),
            ("https://a.example/{trace_id}/{user}", false),
            ("https://a.example/{trace_id", false),
        ] {
            assert_eq!(LinkTemplate(template.into()).problem().is_none(), is_valid, "{template}");
        }
    }
}
