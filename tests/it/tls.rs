//! Encrypted connections to a server whose certificate authority is unknown to the system.

use serde_json::json;

use crate::support::certificate::certified;
use crate::support::cli::{Home, ProgramOutput};
use crate::support::web_server::{WebServer, events};

/// The certificate of a test authority as PEM, and a server with a certificate signed by it.
fn server() -> (String, WebServer) {
    let (pem, config) = certified();
    let server = WebServer::start_tls(config, |_, _| {
        events(&[
            json!({"choices": [{"index": 0, "delta": {"content": "in secret"}, "finish_reason": "stop"}]}),
        ])
    });
    (pem, server)
}

fn home(server: &WebServer, settings: &str) -> Home {
    let home = Home::new();
    home.config(
        "settings.toml",
        format!("discover_local_models = false\n{settings}"),
    );
    let here =
        json!({"baseUrl": format!("{}/v1", server.url()), "apiKey": "k", "models": [{"id": "m"}]});
    home.config(
        "models.json",
        json!({"providers": {"here": here}}).to_string(),
    );
    home
}

fn ask(home: &Home, variables: &[(&str, &str)]) -> ProgramOutput {
    let mut cli = home.cli().args(["--model", "here/m", "-p", "hello"]);
    for (name, value) in variables {
        cli = cli.environment(name, value);
    }
    cli.run()
}

#[test]
fn unknown_certificate_authority_is_an_error_with_a_suggestion() {
    let (_, server) = server();
    let ended = ask(&home(&server, ""), &[]);
    assert_eq!(ended.code, Some(1));
    let told = server.normal(&ended.stderr);
    assert!(
        told.contains("network_error: no secure connection to `SERVER`"),
        "{told}"
    );
    assert!(
        told.contains("set your own certificate authority with `ca_file` or SSL_CERT_FILE"),
        "{told}"
    );
    assert_eq!(told.lines().count(), 1, "{told}");
    assert_eq!(server.lines(), Vec::<String>::new());
}

#[test]
fn custom_certificate_authority_is_trusted_by_setting_or_variable() {
    let (pem, server) = server();
    let by_setting = home(&server, "ca_file = \"ca.pem\"\n");
    by_setting.config("ca.pem", &pem);
    assert_eq!(
        ask(&by_setting, &[]),
        ProgramOutput::new(0, "in secret\n", "")
    );

    let by_variable = home(&server, "");
    let path = by_variable.config("ca.pem", &pem);
    let variables = [("SSL_CERT_FILE", path.to_str().unwrap())];
    assert_eq!(
        ask(&by_variable, &variables),
        ProgramOutput::new(0, "in secret\n", "")
    );
}

#[test]
fn ca_file_without_certificates_is_an_error() {
    let (_, server) = server();
    let home = home(&server, "ca_file = \"ca.pem\"\n");
    let missing = ask(&home, &[]);
    assert!(
        missing
            .stderr
            .contains("`ca_file` `HOME/ca.pem` does not exist"),
        "{}",
        missing.stderr
    );
    home.config("ca.pem", "not a certificate\n");
    let empty = ask(&home, &[]);
    assert!(
        empty
            .stderr
            .contains("`ca_file` `HOME/ca.pem` contains no certificates"),
        "{}",
        empty.stderr
    );
    assert_eq!((missing.code, empty.code), (Some(1), Some(1)));
}
