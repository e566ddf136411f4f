//! The shape of names that come from a request or a response. Other text is never reported, because it may be
//! part of a prompt or of a response that only resembles a known format.

/// Limits for the length of a name and for its number of words: runs of letters and digits between the marks
/// `._:/@+~#=-`. A name never contains blanks, quotes or non-ASCII letters.
#[derive(Debug, Clone, Copy)]
pub struct NameShape {
    max_bytes: usize,
    max_words: usize,
}

impl NameShape {
    /// Names of models and ids of responses. An Amazon resource name of a model has 18 words.
    pub const MODEL: Self = Self { max_bytes: 128, max_words: 20 };
    /// Moments that an app names. `after_tool_call` has three words.
    pub const MARK: Self = Self { max_bytes: 32, max_words: 4 };
    /// Digits of base 36: one for the length of a step, and one for each of 44 steps. With the name of the field, 60 bytes.
    pub const ARRIVALS: Self = Self { max_bytes: 45, max_words: 1 };
    /// Finish reasons. `model_context_window_exceeded` has four words.
    pub const FINISH_REASON: Self = Self { max_bytes: 48, max_words: 6 };

    /// Maximum length of a name in bytes.
    #[must_use]
    pub const fn max_bytes(self) -> usize {
        self.max_bytes
    }

    /// Whether `text` has this shape.
    #[must_use]
    pub fn fits(self, text: &[u8]) -> bool {
        let mut words = 0;
        let mut in_word = false;
        for byte in text {
            if byte.is_ascii_alphanumeric() {
                words += usize::from(!in_word);
                in_word = true;
            } else if MARKS.contains(byte) {
                in_word = false;
            } else {
                return false;
            }
        }
        (1..=self.max_words).contains(&words) && text.len() <= self.max_bytes
    }
}

const MARKS: &[u8] = b"._:/@+~#=-";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_models_have_the_shape_of_names() {
        for name in [
            "gpt-5",
            "o3",
            "llama3.2:3b-instruct-q4_K_M",
            "@cf/meta/llama-3.1-8b-instruct",
            "ft:gpt-4o-mini-2024-07-18:my-org:custom-suffix:9abc",
            "accounts/fireworks/models/llama-v3p1-405b-instruct",
            "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-3-5-sonnet-20241022-v2:0",
            "chatcmpl-49681d34-8dab-47e4-9293-029a97e6229a",
        ] {
            assert!(NameShape::MODEL.fits(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn text_is_no_model_name() {
        let sentence = ["word"; 21].join("-");
        let long = "x".repeat(129);
        for text in [
            "",
            "-",
            "my secret",
            "say \"x\"",
            "a\\u0020b",
            "line\nline",
            "\u{5bc6}\u{7801}",
            "who?",
            &sentence,
            &long,
        ] {
            assert!(!NameShape::MODEL.fits(text.as_bytes()), "{text}");
        }
        assert!(!NameShape::FINISH_REASON.fits(b"i-stopped-as-you-said-my-secret"));
    }

    #[test]
    fn finish_reasons_have_the_shape_of_reasons() {
        for reason in
            ["stop", "MAX_TOKENS", "tool-calls", "model_context_window_exceeded", "IMAGE_PROHIBITED_CONTENT"]
        {
            assert!(NameShape::FINISH_REASON.fits(reason.as_bytes()), "{reason}");
        }
    }
}
