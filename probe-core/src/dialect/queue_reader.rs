//! Reads the messages of a Gradio app's queue into the state of the stream.

use beacon::Defect;

use super::app_queue::{ALIVE, OwnCalls};
use super::queue_message::{MessageKind, QueueMessage};
use super::stream_state::StreamState;
use crate::framing::Event;
use crate::json::Word;
use crate::report_builder::TextField;
use crate::text_kinds::TextKinds;

impl StreamState {
    /// Reads a message of the queue, or an event of a call with a stream of its own.
    pub(super) fn read_queue(&mut self, event: &Event<'_>) -> TextKinds {
        self.template.reject();
        let data = event.data.trim_ascii();
        if data == ALIVE {
            self.ended = true;
            return TextKinds::NONE;
        }
        let Some(message) = QueueMessage::of(event.name, data) else {
            self.report.defects.add(Defect::Malformed);
            return TextKinds::NONE;
        };
        if self.queue.iter_mut().any(|queue| queue.leaves_out(message.call)) {
            return TextKinds::NONE;
        }
        self.failed |= message.failed;
        match message.kind {
            MessageKind::Call | MessageKind::Outputs | MessageKind::End => self.read_call(&message),
            MessageKind::Close => {
                self.ended = true;
                TextKinds::NONE
            }
            MessageKind::Other => TextKinds::NONE,
        }
    }

    /// The other calls of the queue have streams of their own. Without an id this is the stream of the first call.
    pub(crate) fn set_call(&mut self, id: &[u8]) {
        for queue in &mut self.queue {
            queue.own = if id.is_empty() { OwnCalls::First } else { OwnCalls::One(Word::of(id)) };
        }
    }

    fn read_call(&mut self, message: &QueueMessage<'_>) -> TextKinds {
        let Some(queue) = self.queue.first_mut() else {
            return TextKinds::NONE;
        };
        let at = queue.call(message.call);
        let call = &mut queue.calls[at];
        let is_end = message.kind == MessageKind::End;
        let text = match message.outputs {
            Some(outputs) if !(is_end && call.generates) => {
                call.read(outputs, queue.now_ms, &mut queue.earlier)
            }
            _ => TextKinds::NONE,
        };
        call.generates |= message.kind == MessageKind::Outputs;
        let is_first = text.any() && !call.has_text;
        call.has_text |= text.any();
        if is_first {
            queue.stopped = false;
            self.reopen();
            self.set_id(TextField::Id, message.call);
        }
        if is_end {
            self.end_call(at, message, text.any());
        }
        text
    }

    /// A call that still shows text keeps the stream open, and one that shows none does not.
    fn end_call(&mut self, at: usize, message: &QueueMessage<'_>, has_text: bool) {
        let Some(queue) = self.queue.first_mut() else {
            return;
        };
        queue.calls.remove(at);
        queue.stopped = message.outputs.is_none() && !message.failed;
        let is_answered = has_text || self.text_kinds.any();
        self.finished =
            !queue.calls.iter().any(|call| call.has_text) && (is_answered || queue.calls.is_empty());
        // No message to close the stream follows here.
        self.ended |= message.closes || queue.own != OwnCalls::All;
    }
}
