//! Writes the answer to a scrape part by part, up to a limit of bytes. An answer that ends early has whole metrics only,
//! so it is still valid.

use std::vec;

use super::accept::ExpositionFormat;
use super::family::EncodedFamily;
use super::scrape::{Family, Scrape};

/// An answer that is being written.
pub(super) struct Exposition {
    scrape: Scrape,
    format: ExpositionFormat,
    families: vec::IntoIter<Family>,
    begun: Option<BegunFamily>,
    /// Bytes that series may still take.
    room: usize,
    is_cut: bool,
}

/// A family some of whose rows are encoded.
struct BegunFamily {
    family: Family,
    next_row: usize,
    encoded: EncodedFamily,
}

impl Exposition {
    /// `most_bytes` limits the series. The collector's own figures come before them, and are always whole.
    pub(super) fn new(scrape: Scrape, format: ExpositionFormat, most_bytes: usize) -> Self {
        let families = scrape.families().into_iter();
        Self { scrape, format, families, begun: None, room: most_bytes, is_cut: false }
    }

    /// The next part. The first has all of the collector's own figures. Empty at the end.
    pub(super) fn next_part(&mut self) -> Result<Vec<u8>, prometheus::Error> {
        let mut part = Vec::new();
        while part.len() < PART_BYTES || self.is_next_own() {
            let Some(mut begun) = self.begun.take().or_else(|| self.begin()) else { break };
            self.add_rows(&mut begun)?;
            if begun.next_row < begun.family.rows {
                self.append(&mut part, &begun.family, &begun.encoded.take());
                self.begun = Some(begun);
            } else {
                self.append(&mut part, &begun.family, &begun.encoded.finish()?);
            }
        }
        Ok(part)
    }

    /// Whether everything is written that will be.
    pub(super) fn is_at_end(&self) -> bool {
        self.begun.is_none() && self.families.as_slice().is_empty()
    }

    /// Whether the limit of bytes has ended the answer.
    pub(super) const fn is_cut(&self) -> bool {
        self.is_cut
    }

    fn is_next_own(&self) -> bool {
        let begun = self.begun.as_ref().map(|begun| &begun.family);
        begun.or_else(|| self.families.as_slice().first()).is_some_and(|family| family.is_own)
    }

    fn begin(&mut self) -> Option<BegunFamily> {
        let family = self.families.next()?;
        let encoded = EncodedFamily::new(family.head, self.format);
        Some(BegunFamily { family, next_row: 0, encoded })
    }

    /// Encodes some of a family's rows. A row that does not fit ends the answer.
    fn add_rows(
        &mut self,
        BegunFamily { family, next_row, encoded }: &mut BegunFamily,
    ) -> Result<(), prometheus::Error> {
        let room = if family.is_own { usize::MAX } else { self.room };
        let end = family.rows.min(*next_row + ROWS_AT_ONCE);
        for at in *next_row..end {
            if !encoded.add((family.row)(&self.scrape, at), room)? {
                self.is_cut = true;
                self.families = Vec::new().into_iter();
                *next_row = family.rows;
                return Ok(());
            }
        }
        *next_row = end;
        Ok(())
    }

    fn append(&mut self, part: &mut Vec<u8>, family: &Family, bytes: &[u8]) {
        if !family.is_own {
            self.room = self.room.saturating_sub(bytes.len());
        }
        part.extend_from_slice(bytes);
    }
}

/// A part is sent once it has so many bytes. A part of protobuf can be longer, because a family is one message.
const PART_BYTES: usize = 64 * 1024;

/// Rows that are encoded between two looks at the length. One is up to 3 kB of text, with labels of usual length.
const ROWS_AT_ONCE: usize = 16;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use prometheus::proto::{MetricFamily, MetricType};
    use protobuf::CodedInputStream;

    use super::super::scrape::tests::scrape;
    use super::*;

    /// All parts, and whether the limit cut the answer.
    fn written(series: usize, format: ExpositionFormat, most_bytes: usize) -> (Vec<Vec<u8>>, bool) {
        let mut exposition = Exposition::new(scrape(series, format), format, most_bytes);
        let mut parts = Vec::new();
        loop {
            let part = exposition.next_part().unwrap();
            if part.is_empty() {
                assert!(exposition.is_at_end());
                return (parts, exposition.is_cut());
            }
            parts.push(part);
        }
    }

    /// Lines of text by family. Each family has one head, in front of its lines.
    fn text_families(bytes: &[u8]) -> BTreeMap<String, Vec<String>> {
        let text = std::str::from_utf8(bytes).unwrap();
        assert!(text.is_empty() || text.ends_with('\n'));
        let (mut families, mut current) = (BTreeMap::new(), String::new());
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if let Some(head) = line.strip_prefix("# HELP ") {
                current = head.split(' ').next().unwrap().to_owned();
                let kind = lines.next().unwrap();
                assert!(kind.starts_with(&format!("# TYPE {current} ")), "{kind}");
                assert_eq!(families.insert(current.clone(), Vec::new()), None, "{current} has two heads");
            } else {
                assert!(line.starts_with(&current) && !line.starts_with('#'), "{line} after {current}");
                families.get_mut(&current).unwrap().push(line.to_owned());
            }
        }
        assert!(families.values().all(|lines| !lines.is_empty()), "a head without a metric");
        families
    }

    fn protobuf_families(bytes: &[u8]) -> Vec<MetricFamily> {
        let mut input = CodedInputStream::from_bytes(bytes);
        let mut families = Vec::new();
        while !input.eof().unwrap() {
            families.push(input.read_message().unwrap());
        }
        families
    }

    const TTFT: &str = "llm_first_token_duration_seconds";

    /// Metrics of the first histogram in each format.
    fn histograms(bytes: &[u8], format: ExpositionFormat) -> usize {
        match format {
            ExpositionFormat::Text => {
                let families = text_families(bytes);
                let lines = families.get(TTFT).map_or(&[][..], Vec::as_slice);
                let ending = |end: &str| lines.iter().filter(|line| line.contains(end)).count();
                let (buckets, last) = (ending("_bucket{"), ending("le=\"+Inf\""));
                assert_eq!((ending("_sum{"), ending("_count{")), (last, last), "a histogram is whole");
                assert_eq!(buckets % last.max(1), 0, "{buckets} buckets of {last} histograms");
                last
            }
            ExpositionFormat::Protobuf => {
                let families = protobuf_families(bytes);
                let of_name = families.iter().filter(|family| family.name() == TTFT);
                of_name
                    .map(|family| {
                        assert_eq!(family.get_field_type(), MetricType::HISTOGRAM);
                        family.get_metric().len()
                    })
                    .sum()
            }
        }
    }

    const FORMATS: [ExpositionFormat; 2] = [ExpositionFormat::Text, ExpositionFormat::Protobuf];

    #[test]
    fn an_answer_without_a_limit_has_every_series() {
        for format in FORMATS {
            let (parts, is_cut) = written(100, format, usize::MAX);
            assert!(!is_cut);
            assert!(parts.len() > 2, "{} parts", parts.len());
            assert_eq!(histograms(&parts.concat(), format), 100);
        }
    }

    #[test]
    fn a_limit_of_bytes_ends_an_answer_between_two_metrics() {
        for format in FORMATS {
            let whole = written(100, format, usize::MAX).0.concat().len();
            let own = written(100, format, 0).0.concat().len();
            let mut seen = Vec::new();
            for most_bytes in (0..whole).step_by(whole / 40) {
                let (parts, is_cut) = written(100, format, most_bytes);
                let bytes = parts.concat();
                // Heads of protobuf are beyond the limit.
                assert!(bytes.len() <= own + most_bytes + 8 * 1024, "{} of {most_bytes}", bytes.len());
                assert_eq!(is_cut, bytes.len() < whole);
                seen.push(histograms(&bytes, format));
            }
            assert!(seen.is_sorted() && seen.contains(&0) && seen.contains(&100), "{seen:?}");
        }
    }

    #[test]
    fn the_collectors_own_figures_are_in_every_answer() {
        for format in FORMATS {
            let (parts, is_cut) = written(100, format, 0);
            assert!(is_cut && parts.len() == 1);
            let names: Vec<_> = match format {
                ExpositionFormat::Text => text_families(&parts[0]).into_keys().collect(),
                ExpositionFormat::Protobuf => {
                    protobuf_families(&parts[0]).iter().map(|family| family.name().to_owned()).collect()
                }
            };
            assert!(names.is_sorted() && names.contains(&"llm_rum_beacons_total".to_owned()), "{names:?}");
            assert!(!names.contains(&"llm_requests_total".to_owned()), "{names:?}");
        }
    }

    #[test]
    fn no_part_of_text_is_much_longer_than_wanted() {
        let (parts, _) = written(100, ExpositionFormat::Text, usize::MAX);
        let longest = parts.iter().map(Vec::len).max();
        assert!(longest < Some(3 * PART_BYTES), "{longest:?}");
    }
}
