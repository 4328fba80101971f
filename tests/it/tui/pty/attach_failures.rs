//! `osier attach`: errors when a server cannot be joined or stops, and the servers that receive the token.

use std::io::Read as _;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use super::ANSWER;
use super::attach::{command_line, listening, processes};
use super::program::{Program, Setup};
use crate::support::cli::Home;

/// `osier attach` on a terminal that is wide enough for each message.
fn attach(script: &str) -> Setup {
    super::attach::attach(script).size(140, 30)
}

/// A server at the socket `nobody.sock` of the folder of `program`.
struct SocketServer(Child);

impl SocketServer {
    fn start(program: &Program) -> Self {
        let server = Command::new(env!("CARGO_BIN_EXE_osier"))
            .args(["serve", "--unix"])
            .arg(program.work().join("nobody.sock"))
            .env("OSIER_HOME", program.work().with_file_name("home"))
            .current_dir(program.work())
            .stdout(Stdio::null())
            .spawn();
        Self(server.expect("a server"))
    }

    /// Stops the server with SIGTERM, or as `osier serve stop` does.
    fn stop(mut self, program: &Program, with_signal: bool) {
        if with_signal {
            let script = ["-c", "kill -TERM \"$0\"", &self.0.id().to_string()];
            assert!(Command::new("sh").args(script).status().unwrap().success());
        } else {
            let stopped = Command::new(env!("CARGO_BIN_EXE_osier"))
                .args(["serve", "stop", "unix:nobody.sock"])
                .env("OSIER_HOME", program.work().with_file_name("home"))
                .current_dir(program.work())
                .status();
            assert!(stopped.unwrap().success());
        }
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for SocketServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn clients_wait_for_a_server_that_was_stopped() {
    for with_signal in [true, false] {
        let mut program = attach(ANSWER).argument("unix:nobody.sock").start();
        program.shows("Cannot join unix:nobody.sock: no server listens on this address");
        program.shows("Next step: start it with osier serve --unix nobody.sock");
        let server = SocketServer::start(&program);
        program.shows("on nobody.sock");
        program.write("hello\r");
        program.shows("• a list");
        program.hides("esc to interrupt");
        server.stop(&program, with_signal);
        program.shows("disconnected: the server was stopped");
        let server = SocketServer::start(&program);
        program.shows("on nobody.sock");
        program.write("again\r");
        program.shows("▌ hello");
        // The script of the new server begins again.
        program.until("two answers", |screen| {
            screen.matches("• a list").count() == 2
        });
        program.hides("esc to interrupt");
        server.stop(&program, with_signal);
        program.shows("disconnected: the server was stopped");
        program.write("\x04");
        assert!(program.exit().success());
        program.shows("The server was stopped; the session is stored.");
    }
}

#[test]
fn a_failure_has_a_reason_a_cause_and_a_next_step() {
    let home = Home::new();
    home.config("settings.toml", "discover_local_models = false\n");
    let (_server, address, _) = listening(&home);
    let wrong = format!("http://{address}/#token=0123456789abcdef0123");
    for (target, more, expected) in [
        (
            wrong.as_str(),
            vec![],
            [
                "the server rejects the token",
                "Cause: the token is wrong; it is at the end of the URL that",
                "Next step: use the complete address that osier serve prints",
            ],
        ),
        (
            "ssh://nobody",
            vec!["--ssh", "./fake-ssh osier: not found"],
            [
                "there is no osier on that machine",
                "Cause: osier: not found",
                "Next step: install it there, or name its path with --program",
            ],
        ),
        (
            "ssh://nobody",
            vec!["--ssh", "./fake-ssh Permission denied (publickey)."],
            [
                "ssh has no key that the host accepts",
                "Cause: Permission denied (publickey).",
                "then test it with ssh nobody",
            ],
        ),
        (
            "ssh://nobody",
            vec!["--ssh", "./fake-ssh Could not resolve hostname nobody"],
            [
                "the host name is unknown",
                "Cause: Could not resolve hostname nobody",
                "Next step: check the name in the address",
            ],
        ),
    ] {
        let mut setup = attach(ANSWER)
            .file("fake-ssh", "#!/bin/sh\nwhile [ \"$1\" != -o ]; do printf '%s ' \"$1\" >&2; shift; done\nexit 255\n")
            .argument(target);
        for word in more {
            setup = setup.argument(word);
        }
        let fake = setup.folder().join("work/fake-ssh");
        let made = Command::new("chmod").arg("755").arg(fake).status();
        assert!(made.unwrap().success());
        let mut program = setup.start();
        for text in expected {
            program.shows(text);
        }
        program.shows("osier does not try again. Leave with ctrl+d");
        program.write("\x04");
        assert!(program.exit().success());
        program.shows(&format!("No session was joined: {}", expected[0]));
    }
}

#[test]
fn a_missing_directory_is_named() {
    let home = Home::new();
    home.config("settings.toml", "discover_local_models = false\n");
    let (_server, address, token) = listening(&home);
    let mut program = attach(ANSWER)
        .argument(&format!("http://{address}/#token={token}"))
        .argument("--dir")
        .argument("/no/such/folder")
        .start();
    program.shows("the directory cannot be used on the server");
    program.shows("Cause: cannot use /no/such/folder as the working directory");
    program.shows("Next step: name another one in the address or with --dir");
}

#[test]
fn the_arguments_of_a_process_contain_no_token() {
    let home = Home::new();
    home.config("settings.toml", "discover_local_models = false\n");
    let (_server, address, token) = listening(&home);
    let mut program = attach(ANSWER)
        .argument(&format!("http://{address}/#token={token}"))
        .start();
    program.shows(&format!("on {address}"));
    let with_token = processes(|folder| {
        let words = command_line(folder);
        words.iter().any(|word| word.contains(&token))
    });
    assert_eq!(with_token, Vec::<String>::new());
    program.write("\x04");
    assert!(program.exit().success());
    assert!(!program.written().contains(&token));
}

#[test]
fn a_stored_token_is_sent_only_to_its_server() {
    let home = Home::new();
    home.config("settings.toml", "discover_local_models = false\n");
    let (_server, address, token) = listening(&home);
    // Another program that listens on this machine.
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port();
    let received = std::thread::spawn(move || {
        let (mut stream, _) = other.accept().unwrap();
        let mut bytes = vec![0; 4096];
        let count = stream.read(&mut bytes).unwrap();
        bytes.truncate(count);
        // The program does not know the token.
        let _ = std::io::Write::write_all(
            &mut stream,
            b"HTTP/1.1 401 Unauthorized\r\nosier-proof: AAAA\r\ncontent-length: 0\r\n\r\n",
        );
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        bytes.extend(rest);
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let start = |address: &str| {
        attach(ANSWER)
            .home_file("serve.token", &token)
            .variable("OSIER_SERVE_TOKEN", token.clone())
            .argument(address)
            .start()
    };
    let mut program = start(&format!("http://127.0.0.1:{port}"));
    program.shows("the token was not sent, because this may be another server");
    let received = received.join().unwrap();
    assert!(received.starts_with("GET /api/ws "), "{received}");
    assert!(!received.contains(&token), "{received}");
    let mut program = start(&format!("http://{address}"));
    program.shows(&format!("on {address}"));
    // The name of a server on another machine must be in the variable.
    let mut program = start("https://127.0.0.1:1");
    program.shows("Cause: OSIER_SERVE_TOKEN names no server");
}
