//! Proof Key for Code Exchange (RFC 7636): the proof that the client that redeems a code also requested it, and the
//! `state` that relates a callback to its request.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::secret::Secret;

/// A verifier, which is kept secret, and its challenge, which is sent.
#[derive(Debug)]
pub(super) struct Pkce {
    pub verifier: Secret,
    pub challenge: String,
}

impl Pkce {
    pub(super) fn new() -> Self {
        let verifier = random();
        Self {
            challenge: challenge(&verifier),
            verifier: Secret::new(verifier),
        }
    }
}

/// The S256 challenge of a verifier.
fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier))
}

/// 64 hexadecimal digits with 244 random bits, from the system's generator.
pub(super) fn random() -> String {
    format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}

/// Compares two texts in constant time.
pub(super) fn same(left: &str, right: &str) -> bool {
    left.len() == right.len()
        && left
            .bytes()
            .zip(right.bytes())
            .fold(0, |sum, (left, right)| sum | (left ^ right))
            == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenge_matches_the_rfc_example() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(
            challenge(verifier),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
        let pkce = Pkce::new();
        let length = pkce.verifier.expose().len();
        assert!((43..=128).contains(&length));
        assert_eq!(challenge(pkce.verifier.expose()), pkce.challenge);
        assert_ne!(Pkce::new().challenge, pkce.challenge);
    }

    #[test]
    fn only_equal_texts_compare_equal() {
        assert!(same("abc", "abc"));
        assert!(!same("abc", "abd"));
        assert!(!same("abc", "abcd"));
    }
}
