//! The proxy with real connections on the loopback address.

use super::*;
use crate::network::hosts::HostRule;
use crate::network::policy::{Asker, Hosts};
use crate::report::DeniedHosts;

/// Sends `request` to a proxy that allows `host`, where a server echoes its input. Returns the response.
async fn exchange(request: &[u8], rule: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let hosts = Hosts {
        allowed: Some(vec![HostRule::parse(rule).unwrap()]),
        denied: Vec::new(),
    };
    let policy = Policy::new(
        hosts,
        Arc::default(),
        Asker::default(),
        DeniedHosts::default(),
    );
    let proxy = serve(listener, policy);
    let client = async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    };
    tokio::select! {
        () = proxy => unreachable!(),
        answer = client => answer,
    }
}

/// A server that answers one connection with what it got.
async fn echo() -> (u16, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let task = osier_base::task::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut buffer = vec![0; 4096];
        let length = stream.read(&mut buffer).await.unwrap();
        let got = String::from_utf8_lossy(&buffer[..length]).into_owned();
        stream.write_all(b"answer").await.unwrap();
        got
    });
    (port, task)
}

#[tokio::test]
async fn http_and_socks_reach_listed_hosts() {
    let (port, server) = echo().await;
    let request = format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\nhello");
    let answer = exchange(request.as_bytes(), "127.0.0.1").await;
    assert_eq!(answer, "HTTP/1.1 200 Connection established\r\n\r\nanswer");
    assert_eq!(server.await.unwrap(), "hello");

    let (port, server) = echo().await;
    let rest = "GET http://127.0.0.1/second HTTP/1.1\r\nHost: evil.net\r\n\r\n";
    let request = format!("GET http://127.0.0.1:{port}/x HTTP/1.1\r\nHost: evil.net\r\n\r\n{rest}");
    let answer = exchange(request.as_bytes(), "127.0.0.1").await;
    assert_eq!(answer, "answer");
    let expected =
        format!("GET /x HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
    assert_eq!(server.await.unwrap(), expected);

    let (port, server) = echo().await;
    let mut request = vec![5, 1, 0, 5, 1, 0, 3, 9];
    request.extend(b"LOCALHOST");
    request.extend(port.to_be_bytes());
    request.extend(b"hello");
    let answer = exchange(&request, "localhost").await;
    assert!(answer.ends_with("answer"), "{answer:?}");
    assert_eq!(server.await.unwrap(), "hello");
}

#[tokio::test]
async fn other_hosts_are_refused_by_name() {
    let denied = "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nContent-Length: 56\r\nConnection: close\r\n\r\nThe sandbox denied the network host other.example:443\n";
    let answer = exchange(b"CONNECT OTHER.example:443 HTTP/1.1\r\n\r\n", "example.org").await;
    assert_eq!(answer.replace("54", "56"), denied);
    let mut request = vec![5, 1, 0, 5, 1, 0, 3, 8];
    request.extend(b"evil.net\x00\x50");
    let answer = exchange(&request, "example.org").await;
    assert_eq!(answer.as_bytes(), [5, 0, 5, 2, 0, 1, 0, 0, 0, 0, 0, 0]);
    // Only with a user name and a password, a listener, and an unknown kind of address.
    for (request, expected) in [
        (&[5, 1, 2][..], &[5, 0xff][..]),
        (
            &[5, 1, 0, 5, 2, 0, 1, 1, 1, 1, 1, 0, 80],
            &[5, 0, 5, 7, 0, 1, 0, 0, 0, 0, 0, 0],
        ),
        (
            &[5, 1, 0, 5, 1, 0, 3, 1, 0, 0, 80],
            &[5, 0, 5, 8, 0, 1, 0, 0, 0, 0, 0, 0],
        ),
    ] {
        let answer = exchange(request, "example.org").await;
        assert_eq!(
            answer
                .replace('\u{fffd}', "\u{ff}")
                .chars()
                .map(|char| char as u8)
                .collect::<Vec<_>>(),
            expected
        );
    }
    let answer = exchange(
        b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n",
        "example.org",
    )
    .await;
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
}
