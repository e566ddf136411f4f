//! Packets of Engine.IO 4 and socket.io 5, as far as they carry events.

use crate::framing::Event;
use crate::json::Json;

/// The events of one message of an Engine.IO transport. Over polling, a message is a payload of several packets.
pub(super) fn events(message: &[u8]) -> impl Iterator<Item = Event<'_>> {
    message.split(|&byte| byte == SEPARATOR).filter_map(event)
}

/// The event of one packet. `None` for a ping, a handshake, an acknowledgement or bytes in base64.
fn event(packet: &[u8]) -> Option<Event<'_>> {
    match packet.strip_prefix(b"4")? {
        [b'2' | b'5', rest @ ..] => arguments(rest),
        // An app may use Engine.IO alone.
        data @ [b'{' | b'[' | b'"', ..] => Some(Event { data, ..Event::default() }),
        _ => None,
    }
}

/// The event of a socket.io packet after its type: perhaps the number of attachments, a namespace and the id of an
/// acknowledgement, then an array of the name and the arguments.
fn arguments(rest: &[u8]) -> Option<Event<'_>> {
    let array = without_head(rest);
    let mut json = Json::new(array);
    if !json.is_array() || !Json::new(array).finish() {
        return None;
    }
    json.enter(b'[');
    let name = if json.element() { json.string()? } else { return None };
    if !json.element() {
        return Some(Event { name, data: array, ..Event::default() });
    }
    let start = json.start();
    json.skip();
    let only = array.get(start..json.end())?;
    // Several arguments stay in their array, or none: to join them would take a copy.
    let data = if json.element() { array } else { only };
    Some(Event { name, data, ..Event::default() })
}

/// What follows the head of a packet. A namespace may have digits and brackets, and ends in a comma.
fn without_head(packet: &[u8]) -> &[u8] {
    let digits = |bytes: &[u8]| bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut rest = packet;
    if let [b'-', after @ ..] = &rest[digits(rest)..] {
        rest = after;
    }
    if rest.first() == Some(&b'/') {
        let end = rest.iter().position(|&byte| byte == b',').map_or(rest.len(), |comma| comma + 1);
        rest = &rest[end..];
    }
    &rest[digits(rest)..]
}

/// Separates packets over polling.
const SEPARATOR: u8 = 0x1E;
