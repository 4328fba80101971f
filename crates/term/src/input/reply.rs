//! Replies of the terminal to queries.

/// A reply. Colours are red, green, blue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalReply {
    /// Flags of the Kitty keyboard protocol, which the terminal supports.
    KeyboardFlags(u16),
    Foreground((u8, u8, u8)),
    Background((u8, u8, u8)),
    /// One of the sixteen colours.
    Palette(u8, (u8, u8, u8)),
    /// DECRPM: state 0 unknown, 1 set, 2 reset, 3 and 4 permanently set and reset.
    Mode {
        mode: u16,
        state: u16,
    },
    /// DA1. Every terminal answers it, so all earlier queries are answered by then.
    DeviceAttributes(Vec<u16>),
    /// XTVERSION.
    Version(String),
    /// Whether the terminal switched to a dark colour scheme.
    DarkScheme(bool),
    /// Pixels of one cell: width, height.
    CellSize(u16, u16),
    /// Reply to a Kitty graphics query.
    Graphics(bool),
}

/// Parses a string reply (OSC, DCS, APC) without its introducer and terminator.
pub(super) fn string_reply(introducer: u8, body: &str) -> Option<TerminalReply> {
    match introducer {
        b']' => {
            let (number, value) = body.split_once(';')?;
            match number {
                "10" => colour(value).map(TerminalReply::Foreground),
                "11" => colour(value).map(TerminalReply::Background),
                "4" => {
                    let (index, value) = value.split_once(';')?;
                    let index = index.parse().ok().filter(|index| *index < 16)?;
                    Some(TerminalReply::Palette(index, colour(value)?))
                }
                _ => None,
            }
        }
        b'P' => body
            .strip_prefix(">|")
            .map(|version| TerminalReply::Version(version.to_owned())),
        b'_' => body
            .strip_prefix('G')
            .map(|answer| TerminalReply::Graphics(answer.ends_with(";OK"))),
        _ => None,
    }
}

/// `rgb:RRRR/GGGG/BBBB` with one to four digits each, or `#RRGGBB`.
fn colour(value: &str) -> Option<(u8, u8, u8)> {
    let part = |digits: &str| {
        let number = u32::from_str_radix(digits, 16).ok()?;
        let most = match digits.len() {
            1..=4 => 16_u32.pow(digits.len() as u32) - 1,
            _ => return None,
        };
        u8::try_from((number * 255 + most / 2) / most).ok()
    };
    let value = value
        .strip_prefix("rgba:")
        .or(value.strip_prefix("rgb:"))
        .map_or_else(
            || {
                let digits = value
                    .strip_prefix('#')
                    .filter(|digits| digits.len() == 6 && digits.is_ascii())?;
                Some([&digits[..2], &digits[2..4], &digits[4..]])
            },
            |value| {
                let mut parts = value.split('/');
                Some([parts.next()?, parts.next()?, parts.next()?])
            },
        )?;
    Some((part(value[0])?, part(value[1])?, part(value[2])?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_replies_are_parsed_at_any_precision() {
        for (value, expected) in [
            ("rgb:1e1e/2020/ffff", Some((30, 32, 255))),
            ("rgb:f/0/8", Some((255, 0, 136))),
            ("#102030", Some((16, 32, 48))),
            ("rgba:ff/00/00/80", Some((255, 0, 0))),
            ("rgb:zz/00/00", None),
            ("rgb:12345/00/00", None),
            ("", None),
        ] {
            assert_eq!(colour(value), expected, "{value}");
        }
        let red = TerminalReply::Palette(1, (205, 0, 0));
        assert_eq!(string_reply(b']', "4;1;rgb:cdcd/0000/0000"), Some(red));
        assert_eq!(string_reply(b']', "4;200;rgb:00/00/00"), None);
    }
}
