//! What a device is called, by what its browser says of itself.

/// Characters of a name when the browser is none that is known.
const UNKNOWN_MAX: usize = 60;

/// Browsers, by a word in what they say. Most say the words of others too: whoever stands first is it.
const BROWSERS: [(&str, &str); 10] = [
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Vivaldi/", "Vivaldi"),
    ("YaBrowser/", "Yandex"),
    ("FxiOS/", "Firefox"),
    ("Firefox/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
];

/// Systems, in the same manner.
const SYSTEMS: [(&str, &str); 7] = [
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Mac OS X", "Mac"),
    ("Linux", "Linux"),
];

/// The name of a device, such as `Chrome on Linux`; when it says nothing that is known, the beginning of what it says.
pub(crate) fn name(said: Option<&str>) -> String {
    let Some(said) = said.filter(|said| !said.trim().is_empty()) else { return "unknown".to_owned() };
    let first = |known: &[(&str, &'static str)]| {
        known.iter().find(|(word, _)| said.contains(word)).map(|(_, name)| *name)
    };
    match (first(&BROWSERS), first(&SYSTEMS)) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        _ => said.trim().chars().take(UNKNOWN_MAX).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_have_names_that_people_know() {
        let webkit = "AppleWebKit/605.1.15 (KHTML, like Gecko)";
        let blink = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0";
        let cases = [
            (format!("Mozilla/5.0 (X11; Linux x86_64) {blink} Safari/537.36"), "Chrome on Linux"),
            (format!("Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) {blink} Safari/537.36"), "Chrome on ChromeOS"),
            (
                format!("Mozilla/5.0 (Windows NT 10.0; Win64; x64) {blink} Safari/537.36 Edg/140.0.0.0"),
                "Edge on Windows",
            ),
            (
                format!("Mozilla/5.0 (Linux; Android 10; K) {blink} Mobile Safari/537.36 EdgA/140.0.0.0"),
                "Edge on Android",
            ),
            (format!("Mozilla/5.0 (Linux; Android 10; K) {blink} Mobile Safari/537.36"), "Chrome on Android"),
            (
                format!(
                    "Mozilla/5.0 (Linux; Android 13; SM-S901B) SamsungBrowser/28.0 {blink} Safari/537.36"
                ),
                "Samsung Internet on Android",
            ),
            (
                format!(
                    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) {webkit} Version/18.6 Safari/604.1"
                ),
                "Safari on iPhone",
            ),
            (
                format!(
                    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) {webkit} CriOS/140.0 Safari/604.1"
                ),
                "Chrome on iPhone",
            ),
            (
                format!("Mozilla/5.0 (iPad; CPU OS 18_6 like Mac OS X) {webkit} FxiOS/143.0 Safari/605.1.15"),
                "Firefox on iPad",
            ),
            (
                format!(
                    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) {webkit} Version/18.6 Safari/605.1.15"
                ),
                "Safari on Mac",
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:143.0) Gecko/20100101 Firefox/143.0".to_owned(),
                "Firefox on Windows",
            ),
            (
                format!("Mozilla/5.0 (X11; Linux x86_64) {blink} Safari/537.36 OPR/122.0.0.0"),
                "Opera on Linux",
            ),
            ("curl/8.14.1".to_owned(), "curl/8.14.1"),
            (format!("  {}", "x".repeat(500)), &"x".repeat(UNKNOWN_MAX)),
            ("é".repeat(100), &"é".repeat(UNKNOWN_MAX)),
        ];
        for (said, wanted) in &cases {
            assert_eq!(name(Some(said)), *wanted, "{said}");
        }
        assert_eq!((name(None).as_str(), name(Some(" ")).as_str()), ("unknown", "unknown"));
    }
}
