//! The program in mosh. Its server is a terminal that removes what it does not support: no alternate screen, no
//! side margins, no synchronized output, no keyboard protocol, no images, and no control strings except for title
//! and clipboard.

/// The replies of mosh's terminal; it ignores other queries.
pub(super) const ANSWERS: super::program::Answers = &[("\x1b[c", "\x1b[?62c")];

/// Final bytes of control sequences without a private marker.
const PLAIN: &[u8] = b"@ABCDHJKLMPSTXcdfghlmnr`G";
/// Supported modes.
const MODES: &[&str] = &[
    "1", "3", "5", "6", "7", "25", "1000", "1001", "1002", "1003", "1004", "1005", "1006", "1015",
    "2004",
];

/// Supported control strings: titles and the clipboard.
const STRINGS: &[&str] = &["0;", "1;", "2;", "52;"];

/// A filter of a byte stream that may be split anywhere.
#[derive(Debug, Default)]
pub(super) struct Filter {
    /// An incomplete sequence.
    begun: Vec<u8>,
}

impl Filter {
    /// Filters the next bytes.
    pub(super) fn pass(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        for byte in bytes {
            if self.begun.is_empty() && *byte != 0x1b {
                out.push(*byte);
                continue;
            }
            self.begun.push(*byte);
            if is_whole(&self.begun) {
                let sequence = std::mem::take(&mut self.begun);
                out.extend(kept(&sequence));
            }
        }
        out
    }
}

fn is_whole(sequence: &[u8]) -> bool {
    match sequence {
        [_] | [_, b'[' | b']' | b'P' | b'_' | b'^' | b'(' | b')' | b'#'] => false,
        [_, b'[', .., last] => (0x40..=0x7e).contains(last),
        [_, b']' | b'P' | b'_' | b'^', rest @ ..] => {
            rest.ends_with(b"\x07") || rest.ends_with(b"\x1b\\")
        }
        _ => true,
    }
}

fn kept(sequence: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(sequence).into_owned();
    let body = text.get(2..).unwrap_or_default();
    if let Some(modes) = body.strip_prefix('?').filter(|_| sequence[1] == b'[') {
        return known_modes(modes);
    }
    let keeps = match sequence[1] {
        b'[' => {
            let (parameters, end) = body.split_at(body.len() - 1);
            let is_plain = |byte: u8| byte.is_ascii_digit() || byte == b';';
            // Colours may have parameters separated by colons.
            let colours = end == "m" && !parameters.starts_with(['<', '>', '=']);
            let plain = parameters.bytes().all(is_plain) || colours;
            plain && PLAIN.contains(&end.as_bytes()[0]) || body == "!p"
        }
        b']' => STRINGS.iter().any(|known| body.starts_with(known)),
        b'P' | b'_' | b'^' => false,
        _ => true,
    };
    if keeps { sequence.to_vec() } else { Vec::new() }
}

/// Keeps only the supported modes.
fn known_modes(modes: &str) -> Vec<u8> {
    let (modes, end) = modes.split_at(modes.len() - 1);
    let known = modes.split(';').filter(|mode| MODES.contains(mode));
    let known: Vec<&str> = known.collect();
    if known.is_empty() || !matches!(end, "h" | "l") {
        return Vec::new();
    }
    format!("\x1b[?{}{end}", known.join(";")).into_bytes()
}

#[test]
fn unsupported_sequences_are_removed_at_any_split() {
    let sent = "a\x1b[?1049;25hb\x1b[2;5Hc\x1b[>5ud\x1b]0;t\x07e\x1b]8;;u\x1b\\f\x1bPq#0\x1b\\g\x1b[38:2::1:2:3mh\x1b[2;9s\x1b[3bi\x1b[?2026hj";
    let left = "a\x1b[?25hb\x1b[2;5Hcd\x1b]0;t\x07efg\x1b[38:2::1:2:3mhij";
    for size in 1..sent.len() {
        let mut filter = Filter::default();
        let passed: Vec<u8> = sent
            .as_bytes()
            .chunks(size)
            .flat_map(|part| filter.pass(part))
            .collect();
        assert_eq!(String::from_utf8_lossy(&passed), left);
    }
}
