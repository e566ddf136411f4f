//! Chooses the compressed form of a file by the `Accept-Encoding` header.

use axum::http::HeaderMap;
use axum::http::header::ACCEPT_ENCODING;

/// A content coding, by its name in `Accept-Encoding`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentCoding {
    Brotli,
    Gzip,
}

impl ContentCoding {
    /// Smallest result first.
    pub(crate) const ALL: [Self; 2] = [Self::Brotli, Self::Gzip];

    /// Codings that the client accepts, smallest result first. Browsers accept brotli over HTTPS and from
    /// their own machine only.
    pub(crate) fn taken(asked: &HeaderMap) -> impl Iterator<Item = Self> {
        let header = asked.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
        Self::ALL.into_iter().filter(move |coding| header.split(',').any(|item| coding.is(item)))
    }

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Gzip => "gzip",
        }
    }

    /// Name of a file that is compressed with this coding.
    pub(crate) fn of(self, name: &str) -> String {
        match self {
            Self::Brotli => format!("{name}.br"),
            Self::Gzip => format!("{name}.gz"),
        }
    }

    /// Whether an item of the header names this coding with a weight above 0.
    fn is(self, item: &str) -> bool {
        let mut parts = item.split(';').map(str::trim);
        let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(self.as_str()));
        let weight = parts.find_map(|part| part.strip_prefix("q=")).unwrap_or("1");
        named && weight.parse::<f32>().is_ok_and(|weight| weight > 0.0)
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn check(header: &str, expected: &[ContentCoding]) {
        let mut asked = HeaderMap::new();
        asked.insert(ACCEPT_ENCODING, HeaderValue::from_str(header).unwrap());
        assert_eq!(ContentCoding::taken(&asked).collect::<Vec<_>>(), expected, "{header}");
    }

    #[test]
    fn a_browser_gets_the_smallest_form_that_it_takes() {
        check("gzip, deflate, br, zstd", &[ContentCoding::Brotli, ContentCoding::Gzip]);
        check("gzip, deflate", &[ContentCoding::Gzip]);
        check("BR;q=0.5", &[ContentCoding::Brotli]);
    }

    #[test]
    fn only_accepted_content_codings_are_sent() {
        assert_eq!(ContentCoding::taken(&HeaderMap::new()).next(), None);
        check("identity", &[]);
        check("br;q=0, gzip; q=0.000", &[]);
        check("brotli, gz, br;q=x", &[]);
    }
}
