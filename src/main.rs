//! The program. Everything it does stands in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    osier::cli::run()
}
