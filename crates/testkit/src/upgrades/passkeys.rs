//! Signs in with the passkeys of a golden store, as the devices that have their private keys would.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
use serde::Deserialize;
use serde_json::{Value, json};

use super::golden::Golden;
use crate::client::Client;
use crate::trial::Setup;

/// The user was there and was verified.
const VERIFIED: u8 = 0x05;
/// Uses of each key, this one included. Golden stores never used theirs.
const COUNTER: u32 = 1;
/// The client names the host without a port.
const ORIGIN: &str = "http://localhost";

/// A passkey and what only its device knows, as a browser encodes bytes.
#[derive(Debug, Deserialize)]
pub(super) struct PasskeyTold {
    user: String,
    credential: String,
    user_handle: String,
    private_key: String,
    public_key: String,
}

/// Signs in with each passkey and returns those that are refused.
///
/// # Errors
/// Returns an error if the server cannot be asked or a recorded key is not one.
pub(super) fn log_in(golden: &Golden, setup: &Setup) -> anyhow::Result<Vec<String>> {
    let nobody = Client { port: setup.port, token: String::new() };
    let mut broken = Vec::new();
    for passkey in &golden.told.passkeys {
        let begun = nobody.must("POST", "/login/passkey/begin", &json!({}))?;
        let credential = passkey.sign(&begun["options"]["publicKey"])?;
        let finish = json!({ "ceremony": begun["ceremony"], "credential": credential });
        let entered = nobody.ask("POST", "/login/passkey/finish", &finish)?;
        if entered.status != 200 || entered.body["name"] != json!(passkey.user) {
            broken.push(format!("{}'s passkey gives {} {}", passkey.user, entered.status, entered.body));
        }
    }
    Ok(broken)
}

impl PasskeyTold {
    fn sign(&self, options: &Value) -> anyhow::Result<Value> {
        let random = SystemRandom::new();
        let (private, public) = (BASE64.decode(&self.private_key)?, BASE64.decode(&self.public_key)?);
        let algorithm = &ECDSA_P256_SHA256_ASN1_SIGNING;
        let key = EcdsaKeyPair::from_private_key_and_public_key(algorithm, &private, &public, &random)
            .map_err(|error| anyhow::anyhow!("the key of {}: {error}", self.user))?;
        let challenge = &options["challenge"];
        let said =
            json!({ "type": "webauthn.get", "challenge": challenge, "origin": ORIGIN, "crossOrigin": false });
        let said = said.to_string();
        let party = options["rpId"].as_str().unwrap_or_default();
        let mut about = digest(&SHA256, party.as_bytes()).as_ref().to_vec();
        about.push(VERIFIED);
        about.extend(COUNTER.to_be_bytes());
        let signed = [about.as_slice(), digest(&SHA256, said.as_bytes()).as_ref()].concat();
        let signature = key.sign(&random, &signed).map_err(|_| anyhow::anyhow!("the key does not sign"))?;
        Ok(json!({
            "id": self.credential,
            "rawId": self.credential,
            "type": "public-key",
            "clientExtensionResults": {},
            "response": {
                "authenticatorData": BASE64.encode(&about),
                "clientDataJSON": BASE64.encode(said),
                "signature": BASE64.encode(signature.as_ref()),
                "userHandle": self.user_handle,
            },
        }))
    }
}
