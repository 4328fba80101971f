//! The macOS backend, with `sandbox-exec`. Written from the documentation of its profiles and not tested on a
//! Mac.

use std::fmt::Write as _;

use super::spec::{Network, Spec};
use osier_base::process::Invocation;

/// An absolute path: a lookup in `PATH` could find another program.
const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// Stays read-only inside a writable directory.
const PROTECTED: &str = r#"(deny file-write* (regex #"/\.(git|osier|claude)(/|$)"))"#;

/// Wraps `invocation` in the profile for `spec`.
pub(super) fn wrap(spec: &Spec, invocation: Invocation) -> Invocation {
    let mut profile = String::from("(version 1)\n(allow default)\n(deny file-write*)\n");
    let mut args = vec!["-p".into()];
    let mut parameters = Vec::new();
    for (place, path) in spec.writable.iter().enumerate() {
        // Paths are parameters, never part of the profile's text.
        let _ = writeln!(
            profile,
            "(allow file-write* (subpath (param \"W{place}\")))"
        );
        let path = path.canonicalize().unwrap_or_else(|_| path.clone());
        let mut parameter = std::ffi::OsString::from(format!("W{place}="));
        parameter.push(path);
        parameters.extend(["-D".into(), parameter]);
    }
    for device in ["/dev/null", "/dev/zero", "/dev/tty", "/dev/dtracehelper"] {
        let _ = writeln!(profile, "(allow file-write* (literal \"{device}\"))");
    }
    let _ = writeln!(profile, "{PROTECTED}");
    if spec.network == Network::Off {
        profile.push_str("(deny network*)\n");
    }
    args.push(profile.into());
    args.extend(parameters);
    args.push(invocation.program);
    args.extend(invocation.args);
    Invocation {
        program: PROGRAM.into(),
        args,
        ..invocation
    }
}
