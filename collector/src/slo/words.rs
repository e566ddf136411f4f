//! Numbers in sentences.

/// Formats like `1.4 s`, `149 ms` or `12 s`.
pub(crate) fn seconds(ms: f64) -> String {
    match ms {
        _ if ms < 999.5 => format!("{ms:.0} ms"),
        _ if ms < 9_950.0 => format!("{:.1} s", ms / 1e3),
        _ => format!("{:.0} s", ms / 1e3),
    }
}

/// Like [`seconds`], with more digits if the value would otherwise look equal to a different target.
pub(crate) fn seconds_beside(ms: f64, target_ms: f64) -> String {
    let exactly = |ms: f64, digits: usize| format!("{:.digits$} s", ms / 1e3);
    match seconds(ms) {
        other if other != seconds(target_ms) || ms == target_ms => other,
        _ if ms < 999.5 => format!("{ms:.1} ms"),
        _ => {
            let digits = (1..3).find(|digits| exactly(ms, *digits) != exactly(target_ms, *digits));
            exactly(ms, digits.unwrap_or(3))
        }
    }
}

pub(crate) fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent > 0.0 && percent < 0.095 => format!("{percent:.2} %"),
        percent => format!("{percent:.1} %"),
    }
}

/// Like [`percent`], with more digits if the share would otherwise look equal to a different target.
pub(crate) fn percent_beside(share: f64, target: f64) -> String {
    let exactly = |share: f64, digits: usize| format!("{:.digits$} %", share * 100.0);
    match percent(share) {
        other if other != percent(target) || share == target => other,
        _ => {
            let digits = (2..4).find(|digits| exactly(share, *digits) != exactly(target, *digits));
            exactly(share, digits.unwrap_or(4))
        }
    }
}

pub(crate) fn streams(count: u64) -> String {
    match count {
        1 => "1 stream".to_owned(),
        more => format!("{} streams", grouped(more)),
    }
}

/// Formats with thousands separators: `1,900`.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

pub(crate) fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

pub(crate) fn uncapitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}
