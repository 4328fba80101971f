//! Access to the server: tokens, cookies, host names, origins, sizes and rate limits.

use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;

use super::Server;
use super::http_client::Http;
use super::websocket_client::WebSocketClient;
use crate::support::cli::{Home, ProgramOutput};

fn code(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

#[test]
fn requests_without_the_token_are_rejected() {
    let home = Home::new();
    let server = Server::start(&home);
    let stranger = server.stranger();
    for path in ["/api/status", "/api/sessions", "/api/models", "/api/none"] {
        assert_eq!(
            stranger.get(path).code(),
            code(401, "unauthorized"),
            "{path}"
        );
    }
    assert_eq!(
        stranger.post("/api/sessions", &json!({})).code(),
        code(401, "unauthorized")
    );
    assert_eq!(
        WebSocketClient::try_open(&server.address, &[]).err(),
        Some(401)
    );
    // The page itself needs no token.
    let page = stranger.get("/");
    assert_eq!(page.status, 200);
    assert!(!page.text.contains(&server.token));
    let wrong = stranger
        .clone()
        .header("authorization", "Bearer 0123456789abcdef");
    assert_eq!(wrong.get("/api/status").code(), code(401, "unauthorized"));
    // Only the owner can read the file.
    let file = home.home().join("serve.token");
    let mode = std::fs::metadata(&file)
        .expect("the token")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(
        std::fs::read_to_string(&file).expect("the token").trim(),
        server.token
    );
}

#[test]
fn local_socket_requires_the_token() {
    use std::io::{Read as _, Write as _};
    let home = Home::new();
    let socket = home.home().join("serve.sock");
    let server = home.cli().args(["serve", "--unix"]).arg(&socket);
    let mut server = server.start();
    server.line().unwrap();
    let token = std::fs::read_to_string(home.home().join("serve.token")).unwrap();
    let status = |header: &str| {
        let mut stream = std::os::unix::net::UnixStream::connect(&socket).unwrap();
        let request =
            format!("GET /api/status HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{header}\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer[9..12].to_owned()
    };
    let right = format!("Authorization: Bearer {}\r\n", token.trim());
    let wrong = "Authorization: Bearer 0123456789abcdef\r\n";
    let found = ["", wrong, "Cookie: osier=x\r\n", &right].map(status);
    assert_eq!(found, ["401", "401", "401", "200"]);
    server.signal(rustix::process::Signal::TERM);
    assert_eq!(server.end().1, Some(0));
}

#[test]
fn browser_needs_the_cookie_and_the_same_origin() {
    let home = Home::new();
    let server = Server::start(&home);
    let own = format!("http://{}", server.address);
    let page = server.stranger().header("origin", &own);
    let wrong = page.post("/api/login", &json!({"token": "wrong"}));
    assert_eq!(wrong.code(), code(401, "unauthorized"));
    let login = page.post("/api/login", &json!({"token": server.token}));
    assert_eq!(login.status, 200);
    let cookie = login.header("set-cookie").expect("a cookie");
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let cookie = cookie.split(';').next().expect("a value").to_owned();
    let port = server.address.rsplit(':').next().expect("a port");
    assert!(cookie.starts_with(&format!("osier-{port}=")), "{cookie}");
    assert!(!cookie.contains(&server.token), "{cookie}");
    let secret = login.json()["secret"]
        .as_str()
        .expect("a secret")
        .to_owned();
    let browser = |origin: &str| {
        server
            .stranger()
            .header("cookie", &cookie)
            .header("osier-secret", &secret)
            .header("origin", origin)
    };
    // Servers on other ports of the host receive the cookie, which allows nothing without the secret.
    let stolen = server.stranger().header("cookie", &cookie);
    assert_eq!(stolen.get("/api/status").code(), code(401, "unauthorized"));
    let protocols = format!("osier, osier-secret.{secret}");
    assert_eq!(browser(&own).get("/api/status").status, 200);
    assert_eq!(browser(&own).post("/api/sessions", &json!({})).status, 201);
    for evil in ["http://evil.example", "null", "http://127.0.0.1:1"] {
        let answer = browser(evil).post("/api/sessions", &json!({}));
        assert_eq!(answer.code(), code(403, "forbidden_origin"), "{evil}");
        // Also with the token, and where nothing changes.
        let token = format!("Bearer {}", server.token);
        let with_token = server.stranger().header("authorization", &token);
        let answer = with_token.header("origin", evil).get("/api/status");
        assert_eq!(answer.code(), code(403, "forbidden_origin"), "{evil}");
        let headers = [
            ("cookie", cookie.as_str()),
            ("sec-websocket-protocol", &protocols),
            ("origin", evil),
        ];
        assert_eq!(
            WebSocketClient::try_open(&server.address, &headers).err(),
            Some(403)
        );
    }
    // Browsers send cookies automatically, so requests with a cookie need an `Origin`.
    let silent = stolen.header("osier-secret", &secret);
    assert_eq!(
        silent.post("/api/sessions", &json!({})).code(),
        code(403, "forbidden_origin")
    );
    let headers = [
        ("cookie", cookie.as_str()),
        ("sec-websocket-protocol", &protocols),
        ("origin", own.as_str()),
    ];
    assert!(WebSocketClient::try_open(&server.address, &headers).is_ok());
    let out = browser(&own).post("/api/logout", &json!({}));
    assert!(
        out.header("set-cookie")
            .expect("a cookie")
            .contains("Max-Age=0")
    );
}

#[test]
fn dns_rebinding_host_is_rejected() {
    let home = Home::new();
    let server = Server::with(&home, &["--allow-host", "box.example"]);
    let port = server.address.rsplit(':').next().expect("a port");
    let at = |host: &str| server.http().header("host", host).get("/api/status");
    assert_eq!(
        at(&format!("evil.example:{port}")).code(),
        code(403, "forbidden_host")
    );
    assert_eq!(at(&format!("localhost:{port}")).status, 200);
    assert_eq!(at("box.example").status, 200);
}

#[test]
fn invalid_requests_are_errors() {
    let home = Home::new();
    let server = Server::start(&home);
    let form = server.http().header("content-type", "text/plain");
    assert_eq!(
        form.ask("POST", "/api/sessions", "{}").code(),
        code(415, "unsupported_media_type")
    );
    let length = (33 * 1024 * 1024).to_string();
    let large = server.http().header("content-length", &length);
    assert_eq!(
        large.ask("POST", "/api/sessions", "{").code(),
        code(413, "too_large")
    );
    let newer = server.http().header("osier-protocol", "2");
    assert_eq!(
        newer.get("/api/status").code(),
        code(400, "unsupported_protocol")
    );
    assert_eq!(
        server.http().get("/api/none").code(),
        code(404, "not_found")
    );
    assert_eq!(
        server.http().delete("/api/status").code(),
        code(404, "not_found")
    );
}

#[test]
fn wrong_tokens_are_rate_limited() {
    let home = Home::new();
    let server = Server::start(&home);
    let wrong = Http::new(&server.address).header("authorization", "Bearer wrong");
    let mut answers = (0..30).map(|_| wrong.get("/api/status"));
    let limited = answers.find(|answer| answer.status != 401).expect("an end");
    assert_eq!(limited.code(), code(429, "rate_limited"));
    assert!(limited.header("retry-after").is_some());
}

#[test]
fn wrong_tokens_of_others_do_not_lock_out_the_owner() {
    let home = Home::new();
    let server = Server::start(&home);
    for number in 0..30 {
        let wrong = server
            .stranger()
            .header("authorization", &format!("Bearer wrong-{number}"));
        assert_eq!(wrong.get("/api/status").code(), code(401, "unauthorized"));
    }
    assert_eq!(server.http().get("/api/status").status, 200);
}

#[test]
fn trusted_header_separates_the_clients_of_a_reverse_proxy() {
    let home = Home::new();
    let server = Server::with(&home, &["--client-header", "x-client"]);
    let wrong = |client: &str, number: u32| {
        server
            .stranger()
            .header("x-client", client)
            .header("authorization", &format!("Bearer wrong-{number}"))
            .get("/api/status")
            .status
    };
    let codes: Vec<u16> = (0..11).map(|number| wrong("one", number)).collect();
    assert_eq!((&codes[..10], codes[10]), (&[401; 10][..], 429));
    assert_eq!(wrong("two", 100), 401);
}

#[test]
fn sign_in_over_https_uses_a_host_cookie() {
    let home = Home::new();
    let server = Server::with(&home, &["--allow-host", "box.example"]);
    let page = server
        .stranger()
        .header("host", "box.example")
        .header("origin", "https://box.example");
    let login = page.post("/api/login", &json!({"token": server.token}));
    let cookie = login.header("set-cookie").expect("a cookie");
    assert!(cookie.starts_with("__Host-osier="), "{cookie}");
    assert!(cookie.ends_with("; Secure"), "{cookie}");
    let secret = login.json()["secret"]
        .as_str()
        .expect("a secret")
        .to_owned();
    let signed_in = page
        .header("cookie", cookie.split(';').next().expect("a value"))
        .header("osier-secret", &secret);
    assert_eq!(signed_in.get("/api/status").status, 200);
}

#[test]
fn sign_in_and_host_are_checked_strictly() {
    let home = Home::new();
    let server = Server::start(&home);
    let long = json!({"token": "x".repeat(5000)});
    let login = server.stranger().post("/api/login", &long);
    assert_eq!(login.code(), code(413, "too_large"));
    let twice = server.http().header("Host", &server.address);
    let twice = twice.header("host", &server.address).get("/api/status");
    assert_eq!(twice.code(), code(400, "malformed"));
}

#[test]
fn sign_ins_without_an_end_lock_out_nobody() {
    let home = Home::new();
    let server = Server::start(&home);
    let sign_in = server.stranger().header("content-length", "4000");
    // More than the connections of the server: it closes some of them while the others arrive.
    let waiting: Vec<_> = (0..600)
        .map(|_| sign_in.send("POST", "/api/login", "{"))
        .collect();
    assert_eq!(server.http().get("/api/status").status, 200);
    let login = json!({"token": server.token});
    assert_eq!(server.stranger().post("/api/login", &login).status, 200);
    drop(waiting);
}

#[test]
fn only_sessions_can_be_deleted_and_restored() {
    let home = Home::new();
    let server = Server::start(&home);
    let id = server.open(&json!({}));
    let folder = home.work().join("precious");
    std::fs::create_dir(&folder).expect("a folder");
    let file = home.file("other.jsonl", "{}");
    for command in ["delete_session", "restore_session"] {
        for path in [&folder, &file] {
            let answer = server.rpc(&id, &json!({"type": command, "path": path}));
            assert_eq!(answer["success"], false, "{answer}");
            assert!(path.exists(), "{command} moved {}", path.display());
        }
    }
}

#[test]
fn serve_stop_stops_another_server() {
    let home = Home::new();
    let server = Server::start(&home);
    server.open(&json!({}));
    let place = format!("http://{}", server.address);
    let stop = |place: &str| home.cli().args(["serve", "stop", place]).run();
    let stranger = stop(&format!("{place}/#token=0123456789abcdef"));
    assert_eq!(stranger.code, Some(2));
    assert!(
        stranger.stderr.contains("the server rejects the token"),
        "{}",
        stranger.stderr
    );
    // The token of this home is used.
    assert_eq!(stop(&place), ProgramOutput::new(0, "", ""));
    assert_eq!(server.running.end(), (Vec::new(), Some(0), String::new()));
    let gone = stop(&place);
    assert_eq!(gone.code, Some(2));
    assert!(
        gone.stderr.contains("no server listens on this address"),
        "{}",
        gone.stderr
    );
    let there = stop("ssh://box");
    assert!(
        there
            .stderr
            .contains("run `osier serve stop` on that machine"),
        "{}",
        there.stderr
    );
}
