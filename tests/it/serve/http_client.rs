//! A minimal HTTP client that gives tests control over every byte.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// Only a failing test waits that long.
const PATIENCE: Duration = Duration::from_mins(2);

/// A client with custom headers.
#[derive(Clone)]
pub(super) struct Http {
    address: String,
    headers: Vec<(String, String)>,
}

/// A response.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) text: String,
}

impl Answer {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// The `code` of its error.
    pub(super) fn code(&self) -> (u16, String) {
        let code = self.json()["error"]["code"].as_str().map(str::to_owned);
        (self.status, code.unwrap_or_default())
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let mut found = lines.filter(|(known, _)| known.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value)
    }
}

/// A stream of server-sent events.
pub(super) struct Events(BufReader<TcpStream>);

impl Events {
    /// The next event: its id and its data.
    pub(super) fn next(&mut self) -> Option<(Option<u64>, Value)> {
        let mut id = None;
        let mut line = String::new();
        loop {
            line.clear();
            if self.0.read_line(&mut line).expect("a stream") == 0 {
                return None;
            }
            if let Some(number) = line.strip_prefix("id: ") {
                id = number.trim().parse().ok();
            } else if let Some(data) = line.strip_prefix("data: ") {
                return Some((id, serde_json::from_str(data).expect("JSON")));
            }
        }
    }

    pub(super) fn until(&mut self, kind: &str) -> Vec<(Option<u64>, Value)> {
        let mut seen = Vec::new();
        while let Some(event) = self.next() {
            let found = event.1["type"] == kind;
            seen.push(event);
            if found {
                return seen;
            }
        }
        panic!("the stream ended without `{kind}`: {seen:#?}");
    }
}

impl Http {
    pub(super) fn new(address: &str) -> Self {
        Self {
            address: address.to_owned(),
            headers: vec![("content-type".into(), "application/json".into())],
        }
    }

    /// This request with another header.
    pub(super) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(super) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, "")
    }

    pub(super) fn delete(&self, path: &str) -> Answer {
        self.ask("DELETE", path, "")
    }

    pub(super) fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask("POST", path, &body.to_string())
    }

    pub(super) fn ask(&self, method: &str, path: &str, body: &str) -> Answer {
        let mut stream = self.send(method, path, body);
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("an answer");
        let text = String::from_utf8(bytes).expect("UTF-8");
        let (head, rest) = text.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
        Answer {
            status: status.expect("a status"),
            head: head.to_owned(),
            text: rest.to_owned(),
        }
    }

    /// A stream of events. Lines with chunk sizes are ignored.
    pub(super) fn events(&self, method: &str, path: &str, body: &str) -> Events {
        Events(BufReader::new(self.send(method, path, body)))
    }

    /// Sends a request, possibly without the end of its body.
    pub(super) fn send(&self, method: &str, path: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let mut head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        if self.headers.iter().all(|(name, _)| name != "host") {
            let _ = write!(head, "host: {}\r\n", self.address);
        }
        for (name, value) in &self.headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        if self
            .headers
            .iter()
            .all(|(name, _)| name != "content-length")
        {
            let _ = write!(head, "content-length: {}\r\n", body.len());
        }
        stream
            .write_all(format!("{head}\r\n{body}").as_bytes())
            .expect("a request");
        stream
    }
}
