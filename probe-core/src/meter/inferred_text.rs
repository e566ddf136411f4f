//! The meter's part for text that is found by the structure of events: it counts in hindsight, and decides the end.

use super::{End, Meter};
use crate::absent::or;
use crate::dialect::AppQueue;
use crate::report_builder::NumberField;
use crate::text_kinds::TextKinds;

impl Meter {
    /// After the end of a stream whose format was inferred: a hash of that format, and whether an event said that the
    /// answer was over. `None` if no text was found, and after an end from which nothing can be learnt.
    #[must_use]
    pub fn inferred_end(&self) -> Option<(u64, bool)> {
        let inference = self.inference.first().filter(|_| self.end == Some(End::Closed))?;
        Some((inference.format()?, inference.says_end()))
    }

    /// Other streams of this format had an event that says the end, and this one had none: it was cut.
    pub fn miss_end(&mut self) {
        self.unclosed = true;
        self.state.finished = false;
    }

    /// Whether the events say that the answer is over, in a format without an end marker.
    pub(super) fn is_answer_over(&self) -> bool {
        match self.state.dialect {
            Some(dialect) => self.state.finished && !dialect.marks_end,
            None => self.inference.iter().any(|it| it.says_end() || it.stopped || it.failed),
        }
    }

    /// Counts text of earlier events that is known to be text only now. Of those that came at `now_ms`, the read counts
    /// the time.
    pub(super) fn count_earlier(&mut self, now_ms: f64) {
        let Some(inference) = self.inference.first_mut() else {
            return;
        };
        let in_queue = self.state.queue.iter_mut().flat_map(AppQueue::take_earlier);
        for (at_ms, text) in inference.take_earlier().into_iter().chain(in_queue).collect::<Vec<_>>() {
            self.state.report.add(NumberField::Deltas, 1.0);
            self.state.text_kinds = self.state.text_kinds.and(text);
            if at_ms < now_ms {
                self.count_text_at(at_ms, text);
            }
        }
    }

    /// Sets the times of text that came at `at_ms`, perhaps before text that is counted already.
    fn count_text_at(&mut self, at_ms: f64, text: TextKinds) {
        let last_ms = self.state.report.get(NumberField::LastToken);
        if last_ms.is_nan() || last_ms < at_ms {
            return self.count_text(at_ms, text);
        }
        let report = &mut self.state.report;
        report.set(NumberField::FirstToken, report.get(NumberField::FirstToken).min(at_ms));
        if text.is_visible() {
            report
                .set(NumberField::FirstVisible, at_ms.min(or(report.get(NumberField::FirstVisible), at_ms)));
        }
    }

    /// Decides what a stream without a dialect was, as no more events come.
    pub(super) fn end_inference(&mut self, end: End) {
        let Some(inference) = self.inference.first_mut().filter(|_| self.state.is_unknown()) else {
            return;
        };
        inference.finish();
        // A break of the connection or of the page may come after any event.
        let by_choice = matches!(end, End::Closed | End::Cancelled);
        self.state.finished |= by_choice && inference.has_end();
        // An app that knows its format closes the stream by itself, whether or not the format shows where the text is.
        self.state.finished |= end == End::Cancelled && !inference.found && inference.ends_last;
        self.count_earlier(f64::INFINITY);
    }
}
