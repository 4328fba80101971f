//! What the user typed while the terminal did not show it.

/// Lines that are removed from what the model reads.
const SECRETS: usize = 16;
/// The shortest one: shorter text occurs everywhere.
const SECRET_LENGTH: usize = 4;
/// Replaces one.
const HIDDEN: &str = "[hidden input]";

#[derive(Default)]
pub(super) struct Secrets {
    begun: String,
    complete: Vec<String>,
}

impl Secrets {
    /// Adds typed characters.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        for character in String::from_utf8_lossy(bytes).chars() {
            match character {
                '\r' | '\n' => {
                    let secret = std::mem::take(&mut self.begun);
                    if secret.chars().count() >= SECRET_LENGTH {
                        if self.complete.len() == SECRETS {
                            self.complete.remove(0);
                        }
                        self.complete.push(secret);
                    }
                }
                '\x7f' | '\x08' => {
                    self.begun.pop();
                }
                '\x03' | '\x15' => self.begun.clear(),
                character if self.begun.len() < 1024 => self.begun.push(character),
                _ => {}
            }
        }
    }

    /// Replaces secrets in `rows`.
    pub(super) fn hide(&self, mut rows: Vec<String>) -> Vec<String> {
        for secret in &self.complete {
            for row in &mut rows {
                if row.contains(secret.as_str()) {
                    *row = row.replace(secret.as_str(), HIDDEN);
                }
            }
        }
        rows
    }

    /// Whether nothing needs to be replaced.
    pub(super) fn is_empty(&self) -> bool {
        self.complete.is_empty()
    }
}
