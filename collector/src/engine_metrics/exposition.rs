//! Reads the samples of a Prometheus text exposition. The crates for this format build all families in memory, or parse
//! with regular expressions; an engine's exposition has thousands of samples, of which ten are needed.

/// One sample of an exposition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sample<'a> {
    pub(crate) name: &'a str,
    /// Text between the braces. Empty without labels.
    pub(crate) labels: &'a str,
    pub(crate) value: f64,
}

/// The samples of an exposition. Lines that are none are skipped.
pub(crate) fn samples(text: &str) -> impl Iterator<Item = Sample<'_>> {
    text.lines().filter_map(sample)
}

fn sample(line: &str) -> Option<Sample<'_>> {
    let line = line.trim();
    if line.starts_with('#') {
        return None;
    }
    let (name, rest) = line.split_at(line.find(['{', ' ', '\t'])?);
    if name.is_empty() || !name.bytes().all(is_name_byte) {
        return None;
    }
    let (labels, rest) = match rest.trim_start().strip_prefix('{') {
        Some(inside) => inside.split_at_checked(end_of_labels(inside)?)?,
        None => ("", rest),
    };
    let value = rest.trim_start_matches('}').split_whitespace().next()?.parse().ok()?;
    Some(Sample { name, labels, value })
}

/// The brace that is in no value.
fn end_of_labels(inside: &str) -> Option<usize> {
    let (mut in_value, mut is_escaped) = (false, false);
    inside.bytes().position(|byte| {
        let ends = byte == b'}' && !in_value;
        if byte == b'"' && !is_escaped {
            in_value = !in_value;
        }
        is_escaped = in_value && byte == b'\\' && !is_escaped;
        ends
    })
}

impl Sample<'_> {
    /// Value of a label. `None` if the sample has no such label, or an empty one, which means the same.
    pub(crate) fn label(&self, wanted: &str) -> Option<String> {
        let mut rest = self.labels;
        loop {
            let (name, after) = rest.trim_start_matches([',', ' ', '\t']).split_once('=')?;
            let (value, after) = quoted(after.trim_start())?;
            if name.trim_end() == wanted {
                return Some(value).filter(|value| !value.is_empty());
            }
            rest = after;
        }
    }
}

/// A value in quotes at the start of a text, and the rest.
fn quoted(text: &str) -> Option<(String, &str)> {
    let inside = text.strip_prefix('"')?;
    let (mut value, mut chars) = (String::new(), inside.char_indices());
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return Some((value, &inside[at + 1..])),
            '\\' => match chars.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

const fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn escaped(value: &str) -> String {
        value.replace('\\', r"\\").replace('"', r#"\""#).replace('\n', r"\n")
    }

    proptest! {
        #[test]
        fn a_written_sample_is_read_as_it_was(
            name in "[a-z_:][a-z0-9_:]{0,20}",
            labels in prop::collection::btree_map("[a-z_]{1,8}", "[^\r\u{b}\u{c}\u{85}]{0,12}", 0..4),
            value in any::<f64>().prop_filter("equal to itself", |value| !value.is_nan()),
            timestamp in prop::option::of(any::<i64>()),
        ) {
            let pairs: Vec<_> =
                labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
            let braces = if pairs.is_empty() { String::new() } else { format!("{{{}}}", pairs.join(",")) };
            let timestamp = timestamp.map_or(String::new(), |timestamp| format!(" {timestamp}"));
            let text = format!("# HELP {name} x\n{name}{braces} {value}{timestamp}\n");
            let [read] = &samples(&text).collect::<Vec<_>>()[..] else { panic!("one sample in {text}") };
            prop_assert_eq!((read.name, read.value), (name.as_str(), value));
            for (label, value) in &labels {
                prop_assert_eq!(read.label(label).unwrap_or_default(), value.as_str());
            }
            prop_assert_eq!(read.label("absent_label"), None);
        }

        #[test]
        fn any_text_is_read_without_a_panic(text in any::<String>()) {
            samples(&text).for_each(|sample| drop(sample.label("model_name")));
        }
    }

    #[test]
    fn lines_that_are_no_samples_are_skipped() {
        let text =
            "a 1\nb{\nc{d=\"}\"} 2 3\n9.5\nname\n{x=\"y\"} 1\ne{d=\"\\\"}\"} +Inf # {t=\"1\"} 0.5\nf x\n";
        let read: Vec<_> = samples(text).map(|sample| (sample.name, sample.value)).collect();
        assert_eq!(read, [("a", 1.0), ("c", 2.0), ("e", f64::INFINITY)]);
    }
}
