//! The frames for the server over one connection, in order, large ones in pieces that the server acknowledges.
//!
//! Buffers between here and the server hide whether anything arrives, and a lost connection loses
//! what is in them. So only a few unacknowledged pieces are on the way: each acknowledgement is a
//! sign of life, and a later connection continues where the server has the upload. Ops that stop a
//! run overtake a large frame.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A frame with more bytes goes in pieces.
const LARGE: usize = 16 * 1024;
/// Bytes on the way without an acknowledgement: at first, at least and at most.
const FIRST_WINDOW: usize = 16 * 1024;
const MIN_WINDOW: usize = 4 * 1024;
const MAX_WINDOW: usize = 4 * 1024 * 1024;
/// Pieces in a window.
const PIECES: usize = 4;
/// An acknowledgement that takes less doubles the window, one that takes more halves it.
const QUICK: Duration = Duration::from_millis(500);
const SLOW: Duration = Duration::from_secs(2);

/// Ops that a person waits for.
const URGENT: [&str; 4] = ["abort", "abort_retry", "abort_shell", "answer_question"];

/// The frames that wait for one connection.
#[derive(Debug)]
pub(super) struct Outbox {
    waiting: VecDeque<Frame>,
    window: usize,
    /// The server acknowledges pieces.
    has_pieces: bool,
}

/// A frame, and how much of it the server has.
#[derive(Debug)]
struct Frame {
    id: u64,
    value: Value,
    text: String,
    /// The bytes that the server has; not known before its first answer.
    received: Option<usize>,
    sent: usize,
    is_asked: bool,
    /// The ends of the pieces on the way, and when they were sent.
    on_the_way: VecDeque<(usize, Instant)>,
}

/// The next text for the server.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Outgoing {
    pub text: String,
    /// The op that is completely sent with it.
    pub completes: Option<u64>,
}

impl Outbox {
    pub(super) fn new() -> Self {
        Self {
            waiting: VecDeque::new(),
            window: FIRST_WINDOW,
            has_pieces: false,
        }
    }

    pub(super) fn set_pieces(&mut self, has_pieces: bool) {
        self.has_pieces = has_pieces;
    }

    pub(super) fn push(&mut self, id: u64, value: Value) {
        self.waiting.push_back(Frame {
            id,
            text: value.to_string(),
            value,
            received: None,
            sent: 0,
            is_asked: false,
            on_the_way: VecDeque::new(),
        });
    }

    /// The next text for the server; `None` while nothing waits, or the server has to acknowledge something first.
    pub(super) fn next(&mut self) -> Option<Outgoing> {
        let window = self.window;
        let is_large = self.has_pieces && self.waiting.front()?.is_large();
        // An op that stops a run does not wait for an upload.
        let next = if is_large {
            self.waiting.iter().position(Frame::is_urgent)
        } else {
            Some(0)
        };
        if let Some(next) = next {
            let Frame { id, text, .. } = self.waiting.remove(next)?;
            let completes = Some(id);
            return Some(Outgoing { text, completes });
        }
        let frame = self.waiting.front_mut()?;
        let Some(received) = frame.received else {
            let is_asked = std::mem::replace(&mut frame.is_asked, true);
            return (!is_asked).then(|| frame.piece(0, 0));
        };
        if frame.sent >= frame.text.len() || frame.sent - received >= window {
            return None;
        }
        let from = frame.sent;
        let to = (from + window / PIECES).min(frame.text.len());
        let to = frame.text.ceil_char_boundary(to);
        frame.sent = to;
        frame.on_the_way.push_back((to, Instant::now()));
        Some(frame.piece(from, to))
    }

    /// The server has the first `received` bytes of a frame.
    pub(super) fn acknowledge(&mut self, id: u64, received: usize) {
        let Some(frame) = self.waiting.front_mut().filter(|frame| frame.id == id) else {
            return;
        };
        if received > frame.text.len() || !frame.text.is_char_boundary(received) {
            return;
        }
        let is_first = frame.received.is_none();
        if is_first || frame.received > Some(received) {
            // The upload continues over a new connection, or the server has lost pieces.
            frame.sent = received;
            frame.on_the_way.clear();
        }
        frame.received = Some(received);
        while let Some((_, at)) = frame.on_the_way.pop_front_if(|(end, _)| *end <= received) {
            let waited = at.elapsed();
            if waited < QUICK {
                self.window = (self.window * 2).min(MAX_WINDOW);
            } else if waited > SLOW {
                self.window = (self.window / 2).max(MIN_WINDOW);
            }
        }
        if received == frame.text.len() {
            self.waiting.pop_front();
        }
    }

    /// An op is answered, also if not all of it was sent.
    pub(super) fn forget(&mut self, id: u64) {
        self.waiting.retain(|frame| frame.id != id);
    }
}

impl Frame {
    fn is_large(&self) -> bool {
        self.text.len() > LARGE && self.value["once"].is_string()
    }

    fn is_urgent(&self) -> bool {
        let kind = self.value["command"]["op"]["type"].as_str();
        kind.is_some_and(|kind| URGENT.contains(&kind))
    }

    fn piece(&self, from: usize, to: usize) -> Outgoing {
        let piece = json!({
            "id": self.id, "sessionId": self.value["sessionId"], "type": "piece", "once": self.value["once"],
            "piece": {"at": from, "of": self.text.len(), "text": self.text[from..to]},
        });
        Outgoing {
            text: piece.to_string(),
            completes: (to == self.text.len()).then_some(self.id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(text: &str) -> Value {
        json!({"id": 1, "sessionId": "s", "once": "k", "command": {"text": text}})
    }

    fn outbox(text: &str) -> (Outbox, String) {
        let mut outbox = Outbox::new();
        outbox.set_pieces(true);
        outbox.push(1, frame(text));
        (outbox, frame(text).to_string())
    }

    /// The position and the text of a piece.
    fn piece(outgoing: &Outgoing) -> (usize, String) {
        let value: Value = serde_json::from_str(&outgoing.text).unwrap();
        let piece = &value["piece"];
        let text = piece["text"].as_str().unwrap().to_owned();
        (piece["at"].as_u64().unwrap() as usize, text)
    }

    #[test]
    fn small_frames_go_as_they_are() {
        let (mut outbox, text) = outbox("short");
        outbox.push(2, json!({"id": 2}));
        let first = outbox.next().unwrap();
        assert_eq!((first.text, first.completes), (text, Some(1)));
        assert_eq!(outbox.next().unwrap().completes, Some(2));
        assert_eq!(outbox.next(), None);
    }

    /// A server that remembers what it has, and connections that are cut after every number of pieces.
    #[test]
    fn large_frame_arrives_once_however_often_the_connection_is_cut() {
        let long = "ä line\n".repeat(20_000);
        for pieces_per_connection in 1..8 {
            let mut server = String::new();
            let mut sent = 0;
            for connections in 0.. {
                assert!(connections < 2000, "it makes no progress");
                let (mut outbox, text) = outbox(&long);
                let mut left = pieces_per_connection;
                while left > 0
                    && let Some(outgoing) = outbox.next()
                {
                    let (at, piece) = piece(&outgoing);
                    sent += piece.len();
                    if at == server.len() {
                        server.push_str(&piece);
                    }
                    // The acknowledgement of the last piece is lost.
                    left -= usize::from(!piece.is_empty());
                    if left > 0 {
                        outbox.acknowledge(1, server.len());
                    }
                }
                if server.len() == text.len() {
                    assert_eq!(server, text);
                    assert_eq!(sent, text.len(), "something travelled twice");
                    break;
                }
            }
        }
    }

    #[test]
    fn what_stops_a_run_does_not_wait_for_an_upload() {
        let (mut outbox, _) = outbox(&"x".repeat(100_000));
        outbox.push(2, json!({"id": 2}));
        outbox.push(
            3,
            json!({"id": 3, "command": {"type": "op", "op": {"type": "abort"}}}),
        );
        assert_eq!(outbox.next().unwrap().completes, Some(3));
        assert_eq!(piece(&outbox.next().unwrap()), (0, String::new()));
        assert_eq!(outbox.next(), None);
    }

    #[test]
    fn later_frames_wait_and_an_answer_ends_the_upload() {
        let (mut outbox, _) = outbox(&"x".repeat(100_000));
        outbox.push(2, json!({"id": 2}));
        assert_eq!(piece(&outbox.next().unwrap()), (0, String::new()));
        assert_eq!(outbox.next(), None);
        outbox.acknowledge(1, 0);
        let mut on_the_way = 0;
        while let Some(outgoing) = outbox.next() {
            on_the_way += piece(&outgoing).1.len();
        }
        assert_eq!(on_the_way, FIRST_WINDOW);
        // The op was executed over an earlier connection.
        outbox.forget(1);
        assert_eq!(outbox.next().unwrap().completes, Some(2));
    }
}
