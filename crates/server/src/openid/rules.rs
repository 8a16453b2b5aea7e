//! Who may log in through a provider, how he is called here, and where he is led. Nothing here asks anybody.

use openidconnect::RedirectUrl;
use reqwest::Url;

use crate::people::NAME_MAX;

/// Characters of a place to be led to.
const PLACE_MAX: usize = 1_000;
/// Characters of a provider's name.
const PROVIDER_MAX: usize = 40;
/// Room for a number behind a name that is taken.
const NUMBER_ROOM: usize = 5;

/// Whether a provider can be called so: its name stands in addresses.
pub(crate) fn is_provider_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty() && name.len() <= PROVIDER_MAX && name.bytes().all(plain)
}

/// Whether a text says who may log in: an address, or `*@` and a domain.
pub(crate) fn is_pattern(text: &str) -> bool {
    parts(text).is_some_and(|(who, domain)| (who == "*" || !who.contains('*')) && !domain.contains('*'))
}

/// The two sides of an address; nothing when it is none.
fn parts(address: &str) -> Option<(&str, &str)> {
    let (who, domain) = address.split_once('@')?;
    let strange = |character: char| character.is_whitespace() || character.is_control();
    let usable = !who.is_empty() && !domain.is_empty() && !domain.contains('@') && !address.contains(strange);
    usable.then_some((who, domain))
}

/// Whether somebody with this address may log in. Nobody may who is not named, and a domain is itself alone.
pub(super) fn allows(allow: &[String], address: &str) -> bool {
    let Some((who, domain)) = parts(address) else { return false };
    let same = |one: &str, other: &str| one.to_lowercase() == other.to_lowercase();
    let named = allow.iter().filter_map(|pattern| parts(pattern));
    named.into_iter().any(|(allowed, at)| same(at, domain) && (allowed == "*" || same(allowed, who)))
}

/// What a new user is called, by his address.
pub(super) fn name_from(address: &str) -> String {
    let who = address.split(['@', '+']).next().unwrap_or_default();
    let visible = who.chars().filter(|character| !character.is_control());
    let name: String = visible.take(NAME_MAX - NUMBER_ROOM).collect();
    let name = name.trim();
    if name.is_empty() { "user".to_owned() } else { name.to_owned() }
}

/// Whether a place is one of this server: a path, and nothing that a browser would read as another host.
pub(crate) fn is_inside(place: &str) -> bool {
    let visible = place.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    place.starts_with('/') && !place.starts_with("//") && visible && place.len() <= PLACE_MAX
}

/// Where a provider sends a browser back to.
pub(super) fn redirect(origin: &Url, provider: &str) -> Option<RedirectUrl> {
    let address = origin.join(&format!("/api/v1/login/openid/{provider}/return")).ok()?;
    Some(RedirectUrl::from_url(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_is_named_may_log_in() {
        let allow = ["ann@example.org".to_owned(), "*@team.example.org".to_owned()];
        for address in ["ann@example.org", "Ann@Example.ORG", "bob@team.example.org", "x+y@TEAM.example.org"]
        {
            assert!(allows(&allow, address), "{address}");
        }
        for address in [
            "bob@example.org",
            "ann@example.org.evil.example",
            "bob@evil-team.example.org",
            "bob@sub.team.example.org",
            "bob@evil.example@team.example.org",
            "@team.example.org",
            "team.example.org",
            "bob@",
            "*",
            "",
            "bob@team.example.org\n",
            "b ob@team.example.org",
        ] {
            assert!(!allows(&allow, address), "{address:?}");
        }
        assert!(!allows(&[], "ann@example.org"));
    }

    #[test]
    fn a_star_stands_for_everybody_of_a_domain_and_for_nothing_else() {
        assert!(is_pattern("*@example.org") && is_pattern("ann@example.org"));
        for text in
            ["*", "*@*", "ann@*", "a*n@example.org", "*@*.example.org", "@example.org", "example.org", ""]
        {
            assert!(!is_pattern(text), "{text}");
        }
    }

    #[test]
    fn a_new_user_is_called_by_the_front_of_his_address() {
        let cases = [
            ("ann@example.org", "ann"),
            ("ann+shop@example.org", "ann"),
            ("Ann.Lee@example.org", "Ann.Lee"),
            ("+@example.org", "user"),
            ("", "user"),
            ("\u{7}@example.org", "user"),
        ];
        for (address, name) in cases {
            assert_eq!(name_from(address), name, "{address}");
        }
        let long = name_from(&format!("{}@example.org", "é".repeat(200)));
        assert_eq!(long.chars().count(), NAME_MAX - NUMBER_ROOM);
    }

    #[test]
    fn nobody_is_led_elsewhere() {
        for place in ["/", "/s/0198", "/?session=1#turn", "/a//b"] {
            assert!(is_inside(place), "{place}");
        }
        for place in [
            "",
            "s/1",
            "//evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "/\t/evil.example",
            "/a\r\nlocation: x",
            "https://evil.example",
            "javascript:alert(1)",
            "/ä",
        ] {
            assert!(!is_inside(place), "{place:?}");
        }
        assert!(!is_inside(&format!("/{}", "x".repeat(PLACE_MAX))));
    }

    #[test]
    fn a_provider_sends_back_to_the_host_that_was_asked() {
        for (origin, wanted) in [
            ("https://talk.example.org", "https://talk.example.org/api/v1/login/openid/house/return"),
            ("http://127.0.0.1:8440", "http://127.0.0.1:8440/api/v1/login/openid/house/return"),
            ("http://[::1]:1", "http://[::1]:1/api/v1/login/openid/house/return"),
        ] {
            let made = redirect(&origin.parse().unwrap(), "house").unwrap();
            assert_eq!(made.as_str(), wanted);
        }
        assert!(is_provider_name("my-home2"));
        for name in ["", "Home", "a/b", "a b", "ü", &"x".repeat(41)] {
            assert!(!is_provider_name(name), "{name}");
        }
    }
}
