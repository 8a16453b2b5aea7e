//! The HTML that the Bot API reads: a few tags, each closed in order. What it does not know it refuses, as the real one does.

/// Tags that are known.
const TAGS: [&str; 17] = [
    "b",
    "strong",
    "i",
    "em",
    "u",
    "ins",
    "s",
    "strike",
    "del",
    "span",
    "tg-spoiler",
    "tg-emoji",
    "a",
    "code",
    "pre",
    "blockquote",
    "tg-time",
];

/// What is shown of a text; or why it cannot be read, in the words of the real one.
///
/// # Errors
/// When a tag is unknown, not closed, or closed out of order.
pub(super) fn shown(html: &str) -> Result<String, String> {
    let mut shown = String::with_capacity(html.len());
    let mut open: Vec<String> = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find(['<', '&']) {
        shown.push_str(&rest[..at]);
        rest = &rest[at..];
        let offset = html.len() - rest.len();
        if rest.starts_with('&') {
            let (character, length) = character(rest);
            shown.push(character);
            rest = &rest[length..];
            continue;
        }
        let end = tag_end(rest).ok_or_else(|| format!("Unclosed start tag at byte offset {offset}"))?;
        let tag = &rest[1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            close(&mut open, name.trim(), offset)?;
        } else {
            let name = tag.split([' ', '\n', '\t']).next().unwrap_or_default().to_ascii_lowercase();
            if !TAGS.contains(&name.as_str()) {
                return Err(format!("Unsupported start tag \"{name}\" at byte offset {offset}"));
            }
            open.push(name);
        }
    }
    shown.push_str(rest);
    match open.pop() {
        Some(name) => Err(format!("Can't find end tag corresponding to start tag \"{name}\"")),
        None => Ok(shown),
    }
}

fn close(open: &mut Vec<String>, name: &str, offset: usize) -> Result<(), String> {
    let Some(expected) = open.pop() else {
        return Err(format!("Unexpected end tag at byte offset {offset}"));
    };
    if !name.is_empty() && !name.eq_ignore_ascii_case(&expected) {
        return Err(format!(
            "Unmatched end tag at byte offset {offset}, expected \"</{expected}>\", found \"</{name}>\""
        ));
    }
    Ok(())
}

/// Where a tag ends; a mark inside quotes does not end it.
fn tag_end(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (byte, quote) {
            (b'>', None) => return Some(at),
            (b'"' | b'\'', None) => quote = Some(byte),
            (byte, Some(open)) if byte == open => quote = None,
            _ => {}
        }
    }
    None
}

/// A character that is written by its name or number, and how long that is. What is neither is the mark itself.
fn character(text: &str) -> (char, usize) {
    let named = [("&lt;", '<'), ("&gt;", '>'), ("&amp;", '&'), ("&quot;", '"')];
    if let Some((name, character)) = named.into_iter().find(|(name, _)| text.starts_with(name)) {
        return (character, name.len());
    }
    let number = text.find(';').filter(|end| *end <= 10).and_then(|end| {
        let digits = text[1..end].strip_prefix('#')?;
        let number = match digits.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16).ok()?,
            None => digits.parse().ok()?,
        };
        Some((char::from_u32(number).filter(|character| *character != '\0')?, end + 1))
    });
    number.unwrap_or(('&', 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_has_no_marks() {
        assert_eq!(
            shown("a <b>b <i>c</i></b> &lt;d&gt; &amp; &#39;&#x1F600; & e").unwrap(),
            "a b c <d> & '😀 & e"
        );
        assert_eq!(
            shown("<a href=\"https://x/?a>b\">x</a><pre><code class=\"language-rust\">y</code></pre>")
                .unwrap(),
            "xy"
        );
    }

    #[test]
    fn what_is_not_well_formed_is_refused() {
        for html in ["<b>a", "a</b>", "<b><i>a</b></i>", "<p>a</p>", "1 < 2", "<br>", "<b", "<h1>a</h1>"] {
            assert!(shown(html).is_err(), "{html}");
        }
    }
}
