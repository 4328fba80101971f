//! Replies of a terminal to queries about its features.

/// A query and its reply.
const REPLIES: &[(&[u8], &[u8])] = &[
    (b"\x1b[6n", b"\x1b[1;1R"),
    (b"\x1b[c", b"\x1b[?62;22c"),
    (b"\x1b[0c", b"\x1b[?62;22c"),
    (b"\x1b[?u", b"\x1b[?0u"),
    (b"\x1b]10;?", b"\x1b]10;rgb:dddd/dddd/dddd\x1b\\"),
    (b"\x1b]11;?", b"\x1b]11;rgb:1111/1111/1111\x1b\\"),
    (b"\x1b[14t", b"\x1b[4;800;960t"),
    (b"\x1b[16t", b"\x1b[6;20;8t"),
    (b"\x1b[>0q", b"\x1bP>|meter(1)\x1b\\"),
    (b"\x1b[>q", b"\x1bP>|meter(1)\x1b\\"),
];

/// The length of the longest query minus one: the bytes kept for the next read.
const TAIL: usize = 11;

/// Finds queries in the output of a program.
#[derive(Debug, Default)]
pub(crate) struct Replies {
    /// The last bytes, which may contain the start of a query.
    tail: Vec<u8>,
}

impl Replies {
    /// The replies to the queries in `bytes`, in order.
    pub(crate) fn to(&mut self, bytes: &[u8]) -> Vec<u8> {
        let kept = self.tail.len();
        self.tail.extend_from_slice(bytes);
        let text = std::mem::take(&mut self.tail);
        let mut out = Vec::new();
        for start in (0..text.len()).filter(|start| text[*start] == 0x1b) {
            let rest = &text[start..];
            let ends_here = |length: usize| start + length > kept;
            for (question, answer) in REPLIES {
                if rest.starts_with(question) && ends_here(question.len()) {
                    out.extend_from_slice(answer);
                }
            }
            if let Some((mode, _)) = asked_mode(rest).filter(|(_, length)| ends_here(*length)) {
                // Supported and reset.
                out.extend_from_slice(b"\x1b[?");
                out.extend_from_slice(mode);
                out.extend_from_slice(b";2$y");
            }
        }
        self.tail = text[text.len().saturating_sub(TAIL)..].to_vec();
        out
    }
}

/// The mode that DECRQM (`CSI ? n $ p`) queries, and the length of the query.
fn asked_mode(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let rest = bytes.strip_prefix(b"\x1b[?")?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let asked = digits > 0 && rest[digits..].starts_with(b"$p");
    asked.then(|| (&rest[..digits], digits + 5))
}
