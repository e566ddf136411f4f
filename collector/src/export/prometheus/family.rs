//! Encodes metric families row by row: all metrics at once can take more memory than a collector has.

use std::slice;

use prometheus::proto::{Metric, MetricFamily, MetricType};
use prometheus::{Encoder, TextEncoder};
use protobuf::Message;

use super::accept::ExpositionFormat;
use super::native::{bytes_field, varint};

/// Name, help and type of a family.
#[derive(Debug, Clone, Copy)]
pub(super) struct FamilyHead {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) kind: MetricType,
}

/// Rows of a family in one of the formats.
pub(super) struct EncodedFamily {
    format: ExpositionFormat,
    head: FamilyHead,
    /// Encoded and not yet taken. Text begins with the head; protobuf has it in front once the length is known.
    bytes: Vec<u8>,
    is_begun: bool,
}

impl FamilyHead {
    fn message(self, metrics: Vec<Metric>) -> MetricFamily {
        let mut family = MetricFamily::default();
        family.set_name(self.name.to_owned());
        family.set_help(self.help.to_owned());
        family.set_field_type(self.kind);
        family.set_metric(metrics);
        family
    }

    /// The whole family.
    pub(super) fn encode(
        self,
        metrics: Vec<Metric>,
        format: ExpositionFormat,
    ) -> Result<Vec<u8>, prometheus::Error> {
        let mut family = EncodedFamily::new(self, format);
        family.add(metrics, usize::MAX)?;
        family.finish()
    }
}

impl EncodedFamily {
    pub(super) const fn new(head: FamilyHead, format: ExpositionFormat) -> Self {
        Self { format, head, bytes: Vec::new(), is_begun: false }
    }

    /// Adds the metrics of a row, unless there are then more than `room` bytes. Returns whether it did.
    pub(super) fn add(&mut self, metrics: Vec<Metric>, room: usize) -> Result<bool, prometheus::Error> {
        // A family without metrics has no head either.
        if metrics.is_empty() {
            return Ok(true);
        }
        let before = self.bytes.len();
        match self.format {
            ExpositionFormat::Text => self.add_text(metrics)?,
            ExpositionFormat::Protobuf => {
                for metric in metrics {
                    bytes_field(&mut self.bytes, METRIC_FIELD, &metric.write_to_bytes()?);
                }
            }
        }
        let fits = self.bytes.len() <= room;
        if fits {
            self.is_begun = true;
        } else {
            self.bytes.truncate(before);
        }
        Ok(fits)
    }

    fn add_text(&mut self, metrics: Vec<Metric>) -> Result<(), prometheus::Error> {
        if !self.is_begun {
            let family = self.head.message(metrics);
            return TextEncoder::new().encode(slice::from_ref(&family), &mut self.bytes);
        }
        // Without help, the encoder's head is one line, which is here already.
        let family = FamilyHead { help: "", ..self.head }.message(metrics);
        let mut text = Vec::new();
        TextEncoder::new().encode(slice::from_ref(&family), &mut text)?;
        let lines = text.splitn(2, |byte| *byte == b'\n').nth(1).unwrap_or_default();
        self.bytes.extend_from_slice(lines);
        Ok(())
    }

    /// What can be sent before the family is complete.
    pub(super) fn take(&mut self) -> Vec<u8> {
        match self.format {
            ExpositionFormat::Text => std::mem::take(&mut self.bytes),
            ExpositionFormat::Protobuf => Vec::new(),
        }
    }

    /// The rest of the family.
    pub(super) fn finish(self) -> Result<Vec<u8>, prometheus::Error> {
        if self.format == ExpositionFormat::Text || !self.is_begun {
            return Ok(self.bytes);
        }
        let head = self.head.message(Vec::new()).write_to_bytes()?;
        let mut message = Vec::with_capacity(self.bytes.len() + head.len() + MOST_LENGTH_BYTES);
        varint(&mut message, (head.len() + self.bytes.len()) as u64);
        message.extend_from_slice(&head);
        message.extend_from_slice(&self.bytes);
        Ok(message)
    }
}

/// Number of the field `metric` of a family in `io/prometheus/client/metrics.proto`.
const METRIC_FIELD: u64 = 4;

/// Bytes of the longest varint.
const MOST_LENGTH_BYTES: usize = 10;
