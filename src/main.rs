//! The `osier` binary. The library contains the program.

use std::process::ExitCode;

fn main() -> ExitCode {
    osier::cli::run()
}
