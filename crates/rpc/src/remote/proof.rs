//! The proof that a server knows a token, without the token.
//!
//! A token that osier stored was made for one server, and any program can listen on a port of this machine. So the
//! server must first prove that it knows the token. The proof contains the address of the connection: another program
//! cannot relay the proof of the real server, which has another address.

use std::net::SocketAddr;
use std::num::NonZeroU32;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::{digest, hmac, pbkdf2};

/// The request header with the random text of the client.
pub const NONCE_HEADER: &str = "osier-nonce";
/// The response header with the proof.
pub const PROOF_HEADER: &str = "osier-proof";

/// Makes guessing of a short token from a proof slow.
const ROUNDS: NonZeroU32 = NonZeroU32::new(100_000).unwrap();
/// Longest accepted nonce, in bytes.
const MAX_NONCE: usize = 100;

/// Proves or checks the knowledge of one token.
#[derive(Debug)]
pub struct Prover(hmac::Key);

impl Prover {
    /// Derives the key from the token. This needs some milliseconds.
    pub(super) fn new(token: &str) -> Self {
        Self::of_digest(digest::digest(&digest::SHA256, token.as_bytes()).as_ref())
    }

    /// From the SHA-256 digest of the token.
    pub fn of_digest(token: &[u8]) -> Self {
        let mut key = [0; 32];
        let algorithm = pbkdf2::PBKDF2_HMAC_SHA256;
        pbkdf2::derive(algorithm, ROUNDS, b"osier server", token, &mut key);
        Self(hmac::Key::new(hmac::HMAC_SHA256, &key))
    }

    /// The proof for a nonce on a connection to `address`. `None` if the nonce is invalid.
    pub fn prove(&self, nonce: &str, address: SocketAddr) -> Option<String> {
        if nonce.is_empty() || nonce.len() > MAX_NONCE {
            return None;
        }
        let tag = hmac::sign(&self.0, message(nonce, address).as_bytes());
        Some(URL_SAFE_NO_PAD.encode(tag))
    }

    /// Whether `proof` is the proof for this nonce and address.
    pub(super) fn is_proven(&self, proof: &str, nonce: &str, address: SocketAddr) -> bool {
        let Ok(tag) = URL_SAFE_NO_PAD.decode(proof) else {
            return false;
        };
        hmac::verify(&self.0, message(nonce, address).as_bytes(), &tag).is_ok()
    }
}

fn message(nonce: &str, address: SocketAddr) -> String {
    // A server that listens for both kinds of addresses sees IPv4 ones in the form of IPv6.
    let (ip, port) = (address.ip().to_canonical(), address.port());
    format!("{nonce}\n{ip}\n{port}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_for_one_token_nonce_and_address() {
        let address: SocketAddr = "127.0.0.1:7433".parse().unwrap();
        let prover = Prover::new("a token of sixteen");
        let proof = prover.prove("nonce", address).unwrap();
        assert!(prover.is_proven(&proof, "nonce", address));
        assert!(prover.is_proven(&proof, "nonce", "[::ffff:127.0.0.1]:7433".parse().unwrap()));
        assert!(!prover.is_proven(&proof, "other", address));
        assert!(!prover.is_proven(&proof, "nonce", "127.0.0.1:7434".parse().unwrap()));
        assert!(!prover.is_proven(&proof, "nonce", "[::1]:7433".parse().unwrap()));
        assert!(!Prover::new("another token").is_proven(&proof, "nonce", address));
        assert!(!prover.is_proven("?", "nonce", address));
        assert_eq!(prover.prove(&"x".repeat(101), address), None);
    }
}
