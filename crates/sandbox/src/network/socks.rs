//! Requests of SOCKS5, without authentication (RFC 1928).

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::destination::{Destination, Target};
use super::policy::Failure;

pub(super) const VERSION: u8 = 5;
const CONNECT: u8 = 1;
const NO_AUTHENTICATION: u8 = 0;
const NO_METHOD: u8 = 0xff;

/// Reads a request after its first byte, the version. `None` if it is answered with an error.
pub(super) async fn read_request(stream: &mut TcpStream) -> io::Result<Option<Destination>> {
    let count = stream.read_u8().await?;
    let mut methods = vec![0; usize::from(count)];
    stream.read_exact(&mut methods).await?;
    if !methods.contains(&NO_AUTHENTICATION) {
        stream.write_all(&[VERSION, NO_METHOD]).await?;
        return Ok(None);
    }
    stream.write_all(&[VERSION, NO_AUTHENTICATION]).await?;
    let mut start = [0; 4];
    stream.read_exact(&mut start).await?;
    let host = match start[3] {
        1 => {
            let mut bytes = [0; 4];
            stream.read_exact(&mut bytes).await?;
            Some(Target::Address(Ipv4Addr::from(bytes).into()))
        }
        3 => {
            let length = stream.read_u8().await?;
            let mut bytes = vec![0; usize::from(length)];
            stream.read_exact(&mut bytes).await?;
            std::str::from_utf8(&bytes).ok().and_then(Target::parse)
        }
        4 => {
            let mut bytes = [0; 16];
            stream.read_exact(&mut bytes).await?;
            let address = Ipv6Addr::from(bytes).to_canonical();
            Some(Target::Address(address))
        }
        _ => None,
    };
    let port = stream.read_u16().await?;
    if start[0] != VERSION || start[1] != CONNECT {
        answer(stream, 7).await?;
        return Ok(None);
    }
    let destination = host
        .filter(|_| port != 0)
        .map(|host| Destination { host, port });
    if destination.is_none() {
        answer(stream, 8).await?;
    }
    Ok(destination)
}

/// The answer to a request.
pub(super) async fn report(stream: &mut TcpStream, outcome: Result<(), Failure>) -> io::Result<()> {
    let code = match outcome {
        Ok(()) => 0,
        Err(Failure::Denied) => 2,
        Err(Failure::Unreachable) => 4,
    };
    answer(stream, code).await
}

async fn answer(stream: &mut TcpStream, code: u8) -> io::Result<()> {
    stream
        .write_all(&[VERSION, code, 0, 1, 0, 0, 0, 0, 0, 0])
        .await
}
