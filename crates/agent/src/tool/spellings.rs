//! How models write calls that were trained with the tools of other programs.

use serde_json::{Map, Value};

/// Other spellings of the calls of a tool. Case and the characters `_` and `-` do not matter, except in arguments such as
/// `-i`.
#[derive(Debug, Clone, Copy)]
pub struct Spellings {
    /// Other names of the tool.
    pub names: &'static [OtherName],
    /// Other names of arguments. `edits.old_string` is an argument of each element of the list `edits`.
    pub arguments: &'static [(&'static str, &'static [&'static str])],
    /// Other values of an argument: the argument, the other value, the value.
    pub values: &'static [(&'static str, &'static str, &'static str)],
    /// Arguments that other programs have and that change nothing here.
    pub without_effect: &'static [&'static str],
    /// Converts arguments that have another form in other programs. Their names are the names of the definition already.
    /// Returns notes for the model.
    pub adapt: Adapt,
}

/// See [`Spellings::adapt`].
pub type Adapt = fn(&mut Map<String, Value>) -> Vec<String>;

impl Spellings {
    /// No other spellings: only the names and arguments of the definition.
    pub const NONE: Self = Self {
        names: &[],
        arguments: &[],
        values: &[],
        without_effect: &[],
        adapt: |_| Vec::new(),
    };
}

/// A name of a tool in another program.
#[derive(Debug, Clone, Copy)]
pub struct OtherName {
    pub name: &'static str,
    /// The value of the other tool's argument `command` that selects the work of this tool, if the
    /// other tool has several commands.
    pub command: Option<&'static str>,
    /// The argument and its value that the name implies.
    pub implies: Option<(&'static str, &'static str)>,
}

impl OtherName {
    /// A tool that does the same.
    pub const fn of(name: &'static str) -> Self {
        Self {
            name,
            command: None,
            implies: None,
        }
    }

    /// A tool that does the same with this `command`.
    pub const fn with_command(name: &'static str, command: &'static str) -> Self {
        Self {
            command: Some(command),
            ..Self::of(name)
        }
    }

    /// A tool that does the same as this one with the argument `argument`.
    pub const fn implying(name: &'static str, argument: &'static str, value: &'static str) -> Self {
        Self {
            implies: Some((argument, value)),
            ..Self::of(name)
        }
    }
}
