//! Hides the token of a server's address from the list of processes.
//!
//! Every user of a machine can read the arguments of a process. The program starts itself again without the token, which
//! the new one reads from a pipe.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pipe::{PipeFlags, pipe_with};

/// The separator between the address and the token.
const MARK: &str = "#token=";

/// Starts the program again if an argument contains the token of a server. Returns if it does not, or if that fails.
pub(super) fn hide() {
    let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some(token) = remove(&mut arguments) {
        // Without it the program works as well, only its arguments contain the token.
        let _ = start_again(arguments, &token);
    }
}

/// Removes the token of `osier attach ADDRESS#token=TOKEN` and `osier serve stop ADDRESS#token=TOKEN`.
fn remove(arguments: &mut [OsString]) -> Option<String> {
    let word = |at: usize| arguments.get(at).and_then(|word| word.to_str());
    let takes_address = word(0) == Some("attach") || word(0) == Some("serve");
    if !takes_address || arguments.iter().any(|word| word == "--token-file") {
        return None;
    }
    arguments.iter_mut().find_map(|argument| {
        let (address, token) = argument.to_str()?.split_once(MARK)?;
        let (address, token) = (OsString::from(address), token.to_owned());
        *argument = address;
        Some(token)
    })
}

fn start_again(arguments: Vec<OsString>, token: &str) -> io::Result<()> {
    // The pipe stores the token, which is short, until it is read.
    let (reads, writes) = pipe_with(PipeFlags::CLOEXEC)?;
    rustix::io::write(&writes, token.as_bytes())?;
    fcntl_setfd(&reads, FdFlags::empty())?;
    let file = format!("/dev/fd/{}", reads.as_raw_fd());
    let mut names = std::env::args_os();
    #[expect(clippy::disallowed_methods, reason = "this process becomes it")]
    let mut command = Command::new(std::env::current_exe()?);
    let error = command
        .arg0(names.next().unwrap_or_else(|| "osier".into()))
        .args(arguments)
        .args(["--token-file", &file])
        .exec();
    Err(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_of_an_address_is_removed() {
        let removed = |words: &[&str]| {
            let mut words: Vec<OsString> = words.iter().map(OsString::from).collect();
            let token = remove(&mut words);
            let left: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
            (token, left.join(" "))
        };
        let url = "http://127.0.0.1:7433/#token=abc";
        assert_eq!(
            removed(&["attach", url, "--new"]),
            (
                Some("abc".into()),
                "attach http://127.0.0.1:7433/ --new".into()
            )
        );
        assert_eq!(
            removed(&["serve", "stop", url]),
            (
                Some("abc".into()),
                "serve stop http://127.0.0.1:7433/".into()
            )
        );
        assert_eq!(removed(&["-p", url]), (None, format!("-p {url}")));
        assert_eq!(removed(&["attach"]), (None, "attach".into()));
    }
}
