//! Who sent a request, and when: `t=<unix seconds>,v1=<hex>`, where the hex is HMAC-SHA256 of `<t>.<body>`.

use ring::hmac;
use secrecy::{ExposeSecret, SecretString};

use super::Rejection;

/// The header that carries it.
pub const SIGNATURE: &str = "everturn-signature";

/// How far the clocks of two machines may be apart, and how long a request may be on its way.
pub(super) const AGE_MAX_SECONDS: u64 = 300;

/// Signatures in one header: a sender that changes its secret sends two.
const SIGNATURES_MAX: usize = 4;

/// The header's value for a body that is sent now.
pub fn sign(secret: &SecretString, now_unix: i64, body: &[u8]) -> String {
    let tag = hmac::sign(&key(secret), &signed(now_unix, body));
    let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("t={now_unix},v1={hex}")
}

/// Whether somebody who knows one of the secrets signed a body, not long ago.
pub(super) fn verify(
    header: &str,
    body: &[u8],
    secrets: &[SecretString],
    now_unix: i64,
) -> Result<(), Rejection> {
    let field = |name: &'static str| {
        header
            .split(',')
            .filter_map(move |part| part.trim().split_once('=').filter(|(found, _)| *found == name))
    };
    let time: i64 = field("t").next().and_then(|(_, time)| time.parse().ok()).ok_or(Rejection::Signature)?;
    let tags: Vec<Vec<u8>> = field("v1").take(SIGNATURES_MAX).filter_map(|(_, hex)| bytes_of(hex)).collect();
    let signed = signed(time, body);
    // Every pair is compared, each in constant time.
    let matches = secrets
        .iter()
        .flat_map(|secret| {
            let key = key(secret);
            let signed = &signed;
            tags.iter().map(move |tag| hmac::verify(&key, signed, tag).is_ok())
        })
        .fold(false, |any, one| any | one);
    if !matches {
        return Err(Rejection::Signature);
    }
    // Told only to who knows the secret.
    if now_unix.abs_diff(time) > AGE_MAX_SECONDS {
        return Err(Rejection::Stale);
    }
    Ok(())
}

fn key(secret: &SecretString) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, secret.expose_secret().as_bytes())
}

fn signed(time: i64, body: &[u8]) -> Vec<u8> {
    let mut signed = format!("{time}.").into_bytes();
    signed.extend_from_slice(body);
    signed
}

fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    let digits =
        hex.chars().map(|digit| u8::try_from(digit.to_digit(16)?).ok()).collect::<Option<Vec<u8>>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> SecretString {
        text.into()
    }

    #[test]
    fn the_signature_is_what_other_tools_make() {
        // printf '1790000000.{"a":1}' | openssl dgst -sha256 -hmac secret
        let made = sign(&secret("secret"), 1_790_000_000, b"{\"a\":1}");
        assert_eq!(made, format!("t=1790000000,v1={OPENSSL}"));
    }

    const OPENSSL: &str = "da8fe498621aaab99d5b11c51346b13d1a2bf2914b865b8d3edd3531cab25a3e";

    #[test]
    fn only_the_same_body_time_and_secret_match() {
        let (now, body) = (1_790_000_000, b"hello");
        let header = sign(&secret("one"), now, body);
        let check = |header: &str, body: &[u8], secrets: &[&str], now| {
            let secrets: Vec<SecretString> = secrets.iter().map(|text| secret(text)).collect();
            verify(header, body, &secrets, now)
        };
        assert_eq!(check(&header, body, &["one"], now), Ok(()));
        assert_eq!(check(&header, b"hellO", &["one"], now), Err(Rejection::Signature));
        assert_eq!(check(&header, body, &["two"], now), Err(Rejection::Signature));
        assert_eq!(check(&header, body, &[], now), Err(Rejection::Signature));
        let later = header.replace("t=1790000000", "t=1790000001");
        assert_eq!(check(&later, body, &["one"], now), Err(Rejection::Signature));
        for broken in [
            "",
            "t=1790000000",
            "v1=00",
            "t=x,v1=00",
            "t=1790000000,v1=",
            "t=1790000000,v1=0",
            "t=1790000000,v1=zz",
        ] {
            assert_eq!(check(broken, body, &["one"], now), Err(Rejection::Signature), "{broken}");
        }
        // A secret is changed: the receiver knows both, or the sender signs with both.
        assert_eq!(check(&header, body, &["two", "one"], now), Ok(()));
        let both = format!("{},{}", sign(&secret("two"), now, body), header.split_once(',').unwrap().1);
        assert_eq!(check(&both, body, &["one"], now), Ok(()));
    }

    #[test]
    fn what_is_older_or_newer_than_five_minutes_is_stale() {
        let signed_at = 1_790_000_000;
        let header = sign(&secret("one"), signed_at, b"x");
        let check = |now| verify(&header, b"x", &[secret("one")], now);
        for now in [signed_at - 300, signed_at, signed_at + 300] {
            assert_eq!(check(now), Ok(()));
        }
        for now in [signed_at - 301, signed_at + 301, i64::MAX, i64::MIN] {
            assert_eq!(check(now), Err(Rejection::Stale));
        }
    }
}
