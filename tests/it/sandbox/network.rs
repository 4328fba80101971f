//! The network by name, with real programs.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;

use osier_base::process::{Invocation, run_captured};
use osier_protocol::{NetworkAccess, SandboxMode};
use osier_sandbox::{Backend, Confinement, Preferred};
use osier_testing::skip;

use super::Yard;

/// A web server on the loopback address that serves `folder`. Returns its port.
fn server(folder: &Path) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let folder = folder.to_owned();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) == 1 {
                head.push(byte[0]);
            }
            let head = String::from_utf8_lossy(&head).into_owned();
            let path = head
                .split(' ')
                .nth(1)
                .unwrap_or("/")
                .trim_start_matches('/');
            let path = path.split('?').next().unwrap_or_default();
            let (status, body) = match fs::read(folder.join(path)) {
                Ok(body) => ("200 OK", body),
                Err(_) => ("404 Not Found", Vec::new()),
            };
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
            );
            let _ = stream.write_all(&[answer.into_bytes(), body].concat());
        }
    });
    port
}

/// A bare repository in `folder` that Git can clone over plain HTTP.
fn repository(folder: &Path) {
    let git = |arguments: &[&str]| {
        let mut command = std::process::Command::new("git");
        command
            .args(["-c", "user.name=a", "-c", "user.email=a@b.c"])
            .args(arguments)
            .current_dir(folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        assert!(command.status().unwrap().success(), "{arguments:?}");
    };
    git(&["init", "-q", "source"]);
    git(&["-C", "source", "commit", "-q", "--allow-empty", "-mx"]);
    git(&["clone", "-q", "--bare", "source", "bare"]);
    git(&["-C", "bare", "update-server-info"]);
}

/// A program that asks the SOCKS5 proxy for the page `/hello` of a host.
fn socks(host: &str, port: u16) -> String {
    format!(
        "python3 -c \"import socket,struct; h=b'{host}'; \
         s=socket.create_connection(('127.0.0.1',30128)); s.send(b'\\x05\\x01\\x00'); s.recv(2); \
         s.send(b'\\x05\\x01\\x00\\x03'+bytes([len(h)])+h+struct.pack('>H',{port})); \
         assert s.recv(10)[1]==0; s.send(b'GET /hello HTTP/1.0\\r\\n\\r\\n'); \
         assert b'hello' in s.makefile('rb').read()\""
    )
}

/// Commands that reach the listed host `localhost:port`.
fn allowed(port: u16) -> [String; 6] {
    let local = format!("http://localhost:{port}");
    [
        format!("curl -sSf {local}/hello"),
        format!("curl -sSfp {local}/hello"),
        format!("curl -sSf http://LOCALHOST.:{port}/hello"),
        format!("python3 -c \"import urllib.request as u; u.urlopen('{local}/hello')\""),
        format!("git clone -q {local}/bare /tmp/cloned && git -C /tmp/cloned log -1"),
        socks("localhost", port),
    ]
}

/// Commands that want to reach anything else, and the host that the notice names.
/// Without a host, the command did not get to the proxy.
fn denied(port: u16, other: u16) -> [(String, Option<String>); 10] {
    let hidden = Some(format!("localhost:{other}"));
    let address = Some(format!("127.0.0.1:{port}"));
    let named = |host: &str| Some(host.to_owned());
    let curl = |url: String| format!("curl -sSf {url}");
    [
        (
            curl(format!("http://localhost:{other}/hello")),
            hidden.clone(),
        ),
        (
            curl(format!("-p http://localhost:{other}/hello")),
            hidden.clone(),
        ),
        (socks("localhost", other), hidden),
        (
            curl(format!("http://127.0.0.1:{port}/hello")),
            address.clone(),
        ),
        (curl(format!("http://0x7f.1:{port}/hello")), address),
        (
            curl(format!("-H 'Host: localhost:{port}' http://evil.net/hello")),
            named("evil.net:80"),
        ),
        (
            curl("https://secret-data.evil.net/".to_owned()),
            named("secret-data.evil.net:443"),
        ),
        (
            curl(format!("--noproxy '*' http://localhost:{port}/hello")),
            None,
        ),
        ("exec 3<>/dev/tcp/1.1.1.1/443".to_owned(), None),
        (
            "python3 -c \"import socket; socket.getaddrinfo('evil.net', 80)\"".to_owned(),
            None,
        ),
    ]
}

#[tokio::test]
async fn programs_reach_listed_hosts_only() {
    let programs = "apt install bubblewrap curl git python3";
    if !skip::has(&["bwrap", "curl", "git", "python3"], programs) {
        return;
    }
    let yard = Yard::new();
    let served = yard.outside.join("served");
    fs::create_dir(&served).unwrap();
    fs::write(served.join("hello"), "hello").unwrap();
    repository(&served);
    let (port, other) = (server(&served), server(&served));
    let confinement = Confinement::new(&yard.work, Some(env!("CARGO_BIN_EXE_osier").into()));
    let hosts = vec![format!("localhost:{port}"), "*.example.org".to_owned()];
    confinement.set(
        SandboxMode::Workspace,
        NetworkAccess::Hosts(hosts),
        Vec::new(),
    );
    match confinement.ready().await {
        Ok(Backend::Bubblewrap(_)) => {}
        found => return skip::unsupported("bubblewrap", &format!("{found:?}")),
    }
    let run = async |script: &str| {
        let invocation = Invocation {
            cwd: Some(yard.work.clone()),
            ..Invocation::new("/bin/bash", ["-c", script])
        };
        let confined = confinement.confine(invocation).unwrap();
        let limit = std::time::Duration::from_mins(1);
        let output = run_captured(&confined.invocation, None, limit);
        let output = output.await.unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.exit.is_success(), confined.report.notes(), said)
    };
    for script in allowed(port) {
        let (works, notes, said) = run(&script).await;
        assert_eq!((works, notes), (true, vec![]), "{script}: {said}");
    }
    for (script, host) in denied(port, other) {
        let (works, notes, said) = run(&script).await;
        let told = host.map(|host| format!("The sandbox denied the network host {host}"));
        let told: Vec<String> = told.into_iter().collect();
        assert_eq!((works, notes), (false, told), "{script}: {said}");
    }
}

#[tokio::test]
async fn a_list_of_hosts_needs_bubblewrap() {
    let yard = Yard::new();
    let confinement = Confinement::new(&yard.work, Some(env!("CARGO_BIN_EXE_osier").into()));
    confinement.prefer(Preferred::Landlock);
    let hosts = vec!["example.org".to_owned()];
    confinement.set(
        SandboxMode::Workspace,
        NetworkAccess::Hosts(hosts),
        Vec::new(),
    );
    if confinement.ready().await.is_err() {
        return skip::unsupported("landlock", "not in this kernel");
    }
    let error = confinement
        .wrap(Invocation::new("/bin/true", [""; 0]))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot set up the sandbox: `sandbox_network` lists hosts, which only bubblewrap can enforce; the command did not run. Install bubblewrap, or set `sandbox_network` to true or false"
    );
}
