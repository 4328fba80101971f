//! The sign-in of a browser: a random id in a cookie and a secret that belongs to it.
//!
//! Browsers send a cookie to every port of a host, so the id alone allows nothing. The page stores the secret per origin,
//! where servers on other ports cannot read it. The secret is the MAC of the id with the token as the key: the server
//! stores nothing, sign-ins survive a restart, and another token ends them all.

use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};

use super::error::{ApiError, ErrorCode};
use osier_base::hex::hex;

/// The header with the secret.
pub(super) const SECRET_HEADER: &str = "osier-secret";
/// The WebSocket subprotocol of the server.
pub(super) const SUBPROTOCOL: &str = "osier";
/// The start of the subprotocol that contains the secret: browsers cannot set headers of a WebSocket.
pub(super) const SECRET_SUBPROTOCOL: &str = "osier-secret.";

/// The parts that a browser stores.
#[derive(Debug)]
pub(super) struct BrowserSignIn {
    pub id: String,
    pub secret: String,
}

/// Makes and checks sign-ins.
#[derive(Debug)]
pub(super) struct BrowserSignIns(hmac::Key);

impl BrowserSignIns {
    pub(super) fn new(token: &str) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, token.as_bytes());
        let derived = hmac::sign(&key, b"browser sign-in");
        Self(hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref()))
    }

    pub(super) fn create(&self) -> Result<BrowserSignIn, ApiError> {
        let mut bytes = [0_u8; 32];
        SystemRandom::new().fill(&mut bytes).map_err(|_| {
            ApiError::new(
                ErrorCode::Unavailable,
                "the system provides no random numbers",
            )
        })?;
        let id = hex(bytes);
        let secret = self.secret_of(&id);
        Ok(BrowserSignIn { id, secret })
    }

    /// Whether `secret` belongs to `id`, in constant time.
    pub(super) fn is_valid(&self, id: &str, secret: &str) -> bool {
        let given = ring::digest::digest(&ring::digest::SHA256, secret.as_bytes());
        let expected = ring::digest::digest(&ring::digest::SHA256, self.secret_of(id).as_bytes());
        given.as_ref() == expected.as_ref()
    }

    fn secret_of(&self, id: &str) -> String {
        let mut bytes = [0_u8; 32];
        bytes.copy_from_slice(hmac::sign(&self.0, id.as_bytes()).as_ref());
        hex(bytes)
    }
}

/// The names of the cookie over http and https. They contain the port, because cookies of all ports are shared.
pub(super) fn cookie_names(host: &str) -> [String; 2] {
    let port = host.rsplit_once(':').map(|(_, port)| port);
    let is_port = |port: &&str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let suffix = port.filter(is_port).map(|port| format!("-{port}"));
    let name = format!("osier{}", suffix.unwrap_or_default());
    let secure = format!("__Host-{name}");
    [name, secure]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_belongs_to_one_id_and_one_token() {
        let sign_ins = BrowserSignIns::new("token");
        let one = sign_ins.create().unwrap();
        let other = sign_ins.create().unwrap();
        let valid = |id: &str, secret: &str| BrowserSignIns::new("token").is_valid(id, secret);
        assert!(valid(&one.id, &one.secret));
        assert!(!valid(&one.id, &other.secret));
        assert!(!valid(&one.id, ""));
        assert!(!BrowserSignIns::new("new").is_valid(&one.id, &one.secret));
    }

    #[test]
    fn cookie_name_contains_the_port() {
        assert_eq!(
            cookie_names("127.0.0.1:80"),
            ["osier-80", "__Host-osier-80"]
        );
        assert_eq!(cookie_names("[::1]:7"), ["osier-7", "__Host-osier-7"]);
        assert_eq!(cookie_names("box.example"), ["osier", "__Host-osier"]);
    }
}
