//! A device that keeps passkeys, in software: what a browser and a key do together.

#![expect(clippy::unwrap_used, reason = "test code")]

use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The user was there, and proved to the device who he is.
const THERE_AND_VERIFIED: u8 = 0x05;
/// A new key follows.
const WITH_KEY: u8 = 0x40;

/// A device with one passkey.
pub(crate) struct Device {
    key: EcdsaKeyPair,
    id: Vec<u8>,
    /// What the server calls its user, as it wrote it.
    user: String,
    /// Raised with each use; a test can set it back.
    pub(crate) counter: u32,
    /// What the browser says about the user.
    pub(crate) flags: u8,
}

/// Bytes as they are written in what a browser sends.
fn encoded(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits =
            three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        let letters = (0..=three.len()).map(|at| LETTERS[(bits >> (18 - 6 * at)) as usize & 63] as char);
        text.extend(letters);
    }
    text
}

fn client_data(kind: &str, options: &Value, origin: &str) -> Vec<u8> {
    let challenge = &options["publicKey"]["challenge"];
    json!({ "type": kind, "challenge": challenge, "origin": origin, "crossOrigin": false }).to_string().into()
}

impl Device {
    /// Makes a passkey as a server asks for it, and answers the device and what the browser sends.
    pub(crate) fn create(options: &Value, origin: &str) -> (Self, Value) {
        let asked = &options["publicKey"];
        assert_eq!(asked["authenticatorSelection"]["residentKey"], "required");
        assert_eq!(asked["authenticatorSelection"]["userVerification"], "required");
        let random = SystemRandom::new();
        let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, made.as_ref(), &random).unwrap();
        let id = Sha256::digest(key.public_key().as_ref())[..16].to_vec();
        let user = asked["user"]["id"].as_str().unwrap().to_owned();
        let device = Self { key, id, user, counter: 0, flags: THERE_AND_VERIFIED };
        let answer = device.attest(options, origin);
        (device, answer)
    }

    fn attest(&self, options: &Value, origin: &str) -> Value {
        let mut about = self.about(options["publicKey"]["rp"]["id"].as_str().unwrap(), WITH_KEY);
        about.extend([0; 16]);
        about.extend([0, u8::try_from(self.id.len()).unwrap()]);
        about.extend(&self.id);
        let point = &self.key.public_key().as_ref()[1..];
        // A map of five: an elliptic key, ES256, P-256, x and y.
        about.extend([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 32]);
        about.extend(&point[..32]);
        about.extend([0x22, 0x58, 32]);
        about.extend(&point[32..]);
        // A map of three: nobody vouches for the device.
        let mut object = b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x59".to_vec();
        object.extend(u16::try_from(about.len()).unwrap().to_be_bytes());
        object.extend(&about);
        json!({
            "id": encoded(&self.id),
            "rawId": encoded(&self.id),
            "type": "public-key",
            "authenticatorAttachment": "platform",
            "clientExtensionResults": { "credProps": { "rk": true } },
            "response": {
                "attestationObject": encoded(&object),
                "clientDataJSON": encoded(&client_data("webauthn.create", options, origin)),
                "transports": ["internal"],
            },
        })
    }

    /// Signs a challenge, as a browser at an origin sends it.
    pub(crate) fn sign(&mut self, options: &Value, origin: &str) -> Value {
        self.counter += 1;
        let about = self.about(options["publicKey"]["rpId"].as_str().unwrap(), 0);
        let said = client_data("webauthn.get", options, origin);
        let signed = [about.as_slice(), &Sha256::digest(&said)].concat();
        let signature = self.key.sign(&SystemRandom::new(), &signed).unwrap();
        json!({
            "id": encoded(&self.id),
            "rawId": encoded(&self.id),
            "type": "public-key",
            "clientExtensionResults": {},
            "response": {
                "authenticatorData": encoded(&about),
                "clientDataJSON": encoded(&said),
                "signature": encoded(signature.as_ref()),
                "userHandle": self.user,
            },
        })
    }

    /// What the device says of itself.
    fn about(&self, party: &str, more: u8) -> Vec<u8> {
        let mut about = Sha256::digest(party.as_bytes()).to_vec();
        about.push(self.flags | more);
        about.extend(self.counter.to_be_bytes());
        about
    }
}
