//! Keys that are kept and played again: the one thing here that is about keys, whatever they are to the caller.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::TextArea;
use super::register::is_name;
use super::{Modal, Request};

/// Most keys of one playing: one that plays itself without end would never come back.
const MOST: usize = 50_000;

/// The register of a keymap without registers.
const ONLY: char = 'q';

/// Keys by register, and those that are being played.
#[derive(Debug, Clone)]
pub struct Macros<K> {
    kept: BTreeMap<char, (Arc<[K]>, String)>,
    keeping: Option<(char, Vec<K>)>,
    /// Where in the kept keys the sequence began that is being pressed.
    begun: usize,
    /// What is played, the innermost last: keys, the next one, and how often they come again.
    playing: Vec<(Arc<[K]>, usize, usize)>,
    played: usize,
}

impl<K> Default for Macros<K> {
    fn default() -> Self {
        Self {
            kept: BTreeMap::new(),
            keeping: None,
            begun: 0,
            playing: Vec::new(),
            played: 0,
        }
    }
}

impl<K: Clone> Macros<K> {
    /// A key was pressed; `begins` where no sequence was begun before it.
    pub fn press(&mut self, key: K, begins: bool) {
        if let Some((_, keys)) = &mut self.keeping {
            if begins {
                self.begun = keys.len();
            }
            keys.push(key);
        }
    }

    /// Keeps the keys from here on; a capital adds to what there is.
    pub fn begin(&mut self, register: char) {
        self.keeping = Some((register, Vec::new()));
    }

    /// The end, which the last sequence asked for and is no part of. Gives the register, and the text that was
    /// typed, by `typed`.
    pub fn end(&mut self, typed: impl Fn(&K) -> Option<char>) -> Option<(char, String)> {
        let (register, mut keys) = self.keeping.take()?;
        keys.truncate(self.begun);
        let name = register.to_ascii_lowercase();
        if register.is_ascii_uppercase()
            && let Some((before, _)) = self.kept.remove(&name)
        {
            keys.splice(0..0, before.iter().cloned());
        }
        let text: String = keys.iter().filter_map(typed).collect();
        self.kept.insert(name, (keys.into(), text.clone()));
        Some((name, text))
    }

    /// Plays the keys of a register; when another text has come into it since, the keys of that.
    pub fn play(&mut self, register: char, text: &str, times: usize, key: impl Fn(char) -> K) {
        let kept = self.kept.get(&register.to_ascii_lowercase());
        let keys = match kept.filter(|(_, typed)| typed == text) {
            Some((keys, _)) => Arc::clone(keys),
            None => text.chars().map(key).collect(),
        };
        if !keys.is_empty() && times > 0 {
            // One that is at its end does not pile up below the next.
            let is_over =
                |(keys, next, times): &(Arc<[K]>, usize, usize)| *times == 1 && *next >= keys.len();
            while self.playing.last().is_some_and(is_over) {
                self.playing.pop();
            }
            self.playing.push((keys, 0, times));
        }
    }

    /// The next key that is played.
    pub fn next_key(&mut self) -> Option<K> {
        loop {
            let Some((keys, next, times)) = self.playing.last_mut() else {
                self.played = 0;
                return None;
            };
            if let Some(key) = keys.get(*next) {
                *next += 1;
                self.played += 1;
                if self.played > MOST {
                    self.stop();
                    return None;
                }
                return Some(key.clone());
            }
            if *times > 1 {
                (*next, *times) = (0, *times - 1);
            } else {
                self.playing.pop();
            }
        }
    }

    pub fn is_playing(&self) -> bool {
        !self.playing.is_empty()
    }

    /// What is left is not played.
    pub fn stop(&mut self) {
        self.playing.clear();
        self.played = 0;
    }
}

impl Modal {
    /// Keys are kept for a register from here on.
    pub(super) fn keep_keys(&mut self, register: char) {
        if !is_name(register) || "+*_-".contains(register) {
            return self.fail();
        }
        self.kept_for = Some(register);
        self.requests.push(Request::Record(Some(register)));
    }

    /// Plays a register; `@` is the one before, `:` the last command line.
    pub(super) fn play(&mut self, area: &mut TextArea, register: char) {
        let times = self.total().unwrap_or(1);
        self.count = None;
        if register == ':' {
            let Some(line) = self.line.clone() else {
                return self.fail();
            };
            for _ in 0..times {
                self.run_line(area, &line);
            }
            return;
        }
        let register = match register {
            '@' => self.played,
            register => Some(register).filter(|register| is_name(*register)),
        };
        let Some(register) = register.map(|register| register.to_ascii_lowercase()) else {
            return self.fail();
        };
        let content = self.registers.get(Some(register));
        let text = content.map(|content| {
            let end = if content.lines { "\n" } else { "" };
            format!("{}{end}", content.text.expand(|chip| &chip.text))
        });
        self.played = Some(register);
        self.requests.push(Request::Play {
            register,
            text: text.unwrap_or_default(),
            times,
        });
    }

    /// The text that was typed while keys were kept is what the register holds.
    pub fn keys_kept(&mut self, register: char, text: &str) {
        self.registers.set(register, text);
    }

    /// The same without registers: begins, ends or plays.
    pub(super) fn keep_only_keys(&mut self) {
        match self.kept_for {
            None => self.keep_keys(ONLY),
            Some(_) => self.fail(),
        }
    }

    pub(super) fn end_keys(&mut self) {
        match self.kept_for.take() {
            Some(_) => self.requests.push(Request::Record(None)),
            None => self.fail(),
        }
    }

    pub(super) fn play_only_keys(&mut self, area: &mut TextArea) {
        if self.kept_for.take().is_some() {
            self.requests.push(Request::Record(None));
        }
        self.play(area, ONLY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn played(macros: &mut Macros<char>) -> String {
        std::iter::from_fn(|| macros.next_key()).collect()
    }

    fn keep(macros: &mut Macros<char>, register: char, keys: &str) {
        macros.begin(register);
        for key in keys.chars() {
            macros.press(key, true);
        }
        macros.press('q', true);
        macros.end(|key| Some(*key));
    }

    #[test]
    fn keys_are_played_as_often_as_asked_and_never_without_end() {
        let mut macros = Macros::default();
        keep(&mut macros, 'a', "xy");
        keep(&mut macros, 'A', "z");
        macros.play('a', "xyz", 2, |char| char);
        assert_eq!(played(&mut macros), "xyzxyz");
        // Another text has come into the register.
        macros.play('a', "dd", 1, |char| char);
        assert_eq!(played(&mut macros), "dd");
        macros.play('a', "xyz", 9, |char| char);
        let mut count = 0;
        while macros.next_key().is_some() {
            count += 1;
            macros.play('a', "xyz", 9, |char| char);
        }
        assert_eq!((count, macros.is_playing()), (MOST, false));
    }
}
