//! A setting is one row of the table. The row determines its field and default, the parser and the checks, the schema,
//! the list in `/settings`, the changes that a project can make, and the value that applies while a file cannot be
//! read.

use toml::de::DeValue;

use super::form::Form;

/// A row: the values that a setting accepts, how they are read, and who can change them.
pub(super) struct Row<T> {
    pub form: Form,
    /// The accepted values in words; empty when the form describes them.
    pub accepts: &'static str,
    /// Reads a value; `None` when it is invalid.
    pub read: fn(&mut T, &DeValue<'_>) -> Option<()>,
    pub project: Project<T>,
    /// Makes the first value as strict as the second.
    pub stricter: fn(&mut T, &T),
    pub safety: Safety<T>,
}

/// Whether the settings of a project can change the value.
pub(super) enum Project<T> {
    /// Everything.
    All,
    /// Nothing.
    Nothing,
    /// Only to something stricter. After the files of a trusted project have changed, only what restricts applies.
    Stricter,
    /// Everything except to a scripted model, which the function finds: it plays files.
    NoScript(fn(&T) -> bool),
}

/// Whether an invalid value is a fault. Then the function sets the strictest value in its place; without a function, no
/// value is strictest, and everything is asked.
pub(super) enum Safety<T> {
    /// Not a safety setting: an invalid value is reported, and the default applies.
    None,
    /// The setting restricts.
    Restricts(Option<fn(&mut T)>),
    /// The setting allows something: no value can be added to the last valid one that is not known completely.
    Allows(Option<fn(&mut T)>),
}

/// The other value that a value is combined with.
#[derive(Debug, Clone, Copy)]
pub(super) enum Other {
    /// The user's, for a value of a project.
    User { is_trusted: bool },
    /// The last valid one, while the file cannot be read. `is_complete`: every safety setting of the file is known.
    LastValid { is_complete: bool },
}

impl<T: Clone + PartialEq> Row<T> {
    /// Any value is as strict as any other, and every file can set it.
    pub(super) const fn new(
        form: Form,
        accepts: &'static str,
        read: fn(&mut T, &DeValue<'_>) -> Option<()>,
    ) -> Self {
        Self {
            form,
            accepts,
            read,
            project: Project::All,
            stricter: |_, _| {},
            safety: Safety::None,
        }
    }

    pub(super) const fn project(mut self, project: Project<T>) -> Self {
        self.project = project;
        self
    }

    pub(super) const fn safety(mut self, safety: Safety<T>, stricter: fn(&mut T, &T)) -> Self {
        self.safety = safety;
        self.stricter = stricter;
        self
    }

    /// Combines a value with another one. Returns whether the project's value names a scripted
    /// model, and is ignored.
    pub(super) fn combine(&self, own: &mut T, other: &T, source: Other) -> bool {
        match (source, &self.project, &self.safety) {
            (Other::LastValid { .. }, _, Safety::None)
            | (Other::User { is_trusted: true }, Project::All, _) => {}
            (Other::LastValid { is_complete: false }, _, Safety::Allows(_)) => {
                own.clone_from(other);
            }
            (Other::LastValid { .. }, ..)
            | (Other::User { is_trusted: true }, Project::Stricter, _)
            | (Other::User { .. }, Project::Stricter, Safety::Restricts(_)) => {
                (self.stricter)(own, other);
            }
            (Other::User { is_trusted: true }, Project::NoScript(is_script), _) => {
                let is_ignored = own != other && is_script(own);
                if is_ignored {
                    own.clone_from(other);
                }
                return is_ignored;
            }
            (Other::User { .. }, ..) => own.clone_from(other),
        }
        false
    }
}

/// Declares a struct of settings, one row each: `name: Type = DEFAULT, ROW;`, with its description as documentation. The
/// default is written as in TOML; without one, it is the empty value. `[part]` is the field of the settings that has the
/// struct. Fields after the groups are no settings.
macro_rules! settings {
    (
        $(#[$meta:meta])*
        pub struct $struct:ident $part:tt {
            $($group:ident {
                $(
                    $(#[doc = $doc:literal])+
                    $name:ident: $type:ty $(= $default:tt)?, $row:expr;
                )+
            })+
            $($(#[doc = $other_doc:literal])+ $other:ident: $other_type:ty = $value:expr;)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $struct {
            $($($(#[doc = $doc])+ pub $name: $type,)+)+
            $($(#[doc = $other_doc])+ pub $other: $other_type,)*
        }

        impl $struct {
            const SETTINGS: &'static [Setting] = &[$($({
                const ROW: Row<$type> = $row;
                Setting {
                    name: stringify!($name),
                    default: concat!($(stringify!($default))?),
                    description: concat!($($doc),+).trim_ascii(),
                    group: Group::$group,
                    form: ROW.form,
                    accepts: ROW.accepts,
                    read: |settings, value| (ROW.read)(&mut field!(settings $part $name), value),
                    strictest: match ROW.safety {
                        Safety::None => None,
                        Safety::Restricts(Some(_)) | Safety::Allows(Some(_)) => Some(|settings| {
                            if let Safety::Restricts(Some(set)) | Safety::Allows(Some(set)) = ROW.safety {
                                set(&mut field!(settings $part $name));
                            }
                        }),
                        Safety::Restricts(None) | Safety::Allows(None) => Some(Settings::ask_at_least),
                    },
                    combine: |settings, other, source| {
                        let other = &field!(other $part $name);
                        ROW.combine(&mut field!(settings $part $name), other, source)
                    },
                }
            },)+)+];

            /// Every setting is empty.
            fn empty() -> Self {
                Self {
                    $($($name: Default::default(),)+)+
                    $($other: $value,)*
                }
            }
        }
    };
}

/// The field of a setting: of the settings themselves, or of a part of them.
macro_rules! field {
    ($settings:ident [] $name:ident) => {
        $settings.$name
    };
    ($settings:ident [$part:ident] $name:ident) => {
        $settings.$part.$name
    };
}

pub(super) use {field, settings};
