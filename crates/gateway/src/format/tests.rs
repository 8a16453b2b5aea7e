//! What Markdown becomes, and that nothing else becomes of hostile text.

use proptest::prelude::*;

use super::*;

fn matrix(markdown: &str) -> String {
    to_html(markdown, Flavour::Matrix)
}

fn telegram(markdown: &str) -> String {
    to_html(markdown, Flavour::Telegram)
}

/// Every part of Markdown that models write.
const ANSWER: &str = "# Title\n\nSome **bold**, *slanted*, ~~struck~~ and `a < b`.\nNext line.\n\n\
    - one\n- two\n  1. deep\n  2. deeper\n\n> said *he*\n\n```rust\nlet x = \"<b>\";\n```\n\n\
    | a | b |\n|---|--:|\n| 1 | `x|y` |\n\n- [x] done\n- [ ] open\n\n[site](https://example.org/?a=1&b=2 \"title\") <me@example.org>";

#[test]
fn an_answer_in_matrix() {
    let expected = "<h1>Title</h1>\n\
        <p>Some <strong>bold</strong>, <em>slanted</em>, <del>struck</del> and <code>a &lt; b</code>.<br />\nNext line.</p>\n\
        <ul>\n<li>one</li>\n<li>two\n<ol>\n<li>deep</li>\n<li>deeper</li>\n</ol>\n</li>\n</ul>\n\
        <blockquote>\n<p>said <em>he</em></p>\n</blockquote>\n\
        <pre><code class=\"language-rust\">let x = \"&lt;b&gt;\";\n</code></pre>\n\
        <table><thead><tr><th>a</th><th>b</th></tr></thead><tbody>\n<tr><td>1</td><td><code>x</code></td></tr>\n</tbody></table>\n\
        <ul>\n<li>☑ done</li>\n<li>☐ open</li>\n</ul>\n\
        <p><a href=\"https://example.org/?a=1&amp;b=2\">site</a> <a href=\"mailto:me@example.org\">me@example.org</a></p>";
    assert_eq!(matrix(&ANSWER.replace("`x|y`", "`x`")), expected);
}

#[test]
fn an_answer_in_telegram() {
    let expected = "<b>Title</b>\n\n\
        Some <b>bold</b>, <i>slanted</i>, <s>struck</s> and <code>a &lt; b</code>.\nNext line.\n\n\
        • one\n• two\n  1. deep\n  2. deeper\n\n\
        <blockquote>said <i>he</i></blockquote>\n\n\
        <pre><code class=\"language-rust\">let x = &quot;&lt;b&gt;&quot;;\n</code></pre>\n\n\
        <pre>a   | b\n123 | x</pre>\n\n\
        • ☑ done\n• ☐ open\n\n\
        <a href=\"https://example.org/?a=1&amp;b=2\">site</a> <a href=\"mailto:me@example.org\">me@example.org</a>";
    assert_eq!(telegram(&ANSWER.replace("| 1 | `x|y` |", "| 123 | `x` |")), expected);
}

/// Text that wants to be more than text.
const HOSTILE: [&str; 24] = [
    "<script>alert(1)</script>",
    "text <img src=x onerror=alert(1)> text",
    "<div>\n<b onclick=x>block</b>\n</div>\n\nafter",
    "<!-- comment --> <?php ?> <![CDATA[x]]>",
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt:alert(1))",
    "[a](data:text/html,<script>)",
    "[a](tg://user?id=1)",
    "[a](/relative) [b](//host/x) [c](#here)",
    "![p](javascript:x) ![q](https://example.org/x.png)",
    "[![p](https://a.example/x.png)](https://b.example/)",
    "[a](https://example.org/\"onmouseover=\"x)",
    "[a](<https://example.org/\"><script>>)",
    "<javascript:alert(1)>",
    "<https://example.org/<x>>",
    "```\"><script>\nx\n```",
    "```<b>\n</code></pre><script>\n```",
    "`</code><script>`",
    "| <b> | </pre><script> |\n|--|--|\n| & | \" |",
    "> > > deep\n>> less\n\n> again",
    "# **bold** in # _x_\n\n***both***",
    "&lt;script&gt; &#60;script&#62; &amp;lt;",
    "- - - > ```\n\u{0}\u{1}\u{202e}",
    "1. [a]: javascript:x\n\n[a]\n\n18446744073709551615. x\n1. y",
];

const MATRIX_TAGS: &str =
    "h1 h2 h3 h4 h5 h6 p br hr strong em del code pre blockquote ul ol li a table thead tbody tr th td";
const TELEGRAM_TAGS: &str = "b i u s code pre a blockquote";

/// Reads HTML as strictly as one can: every sign that could begin a tag begins one of these, with these attributes, and each is
/// closed in its turn.
fn check(html: &str, allowed: &str) -> Result<(), String> {
    let mut open = Vec::new();
    let mut rest = html;
    while let Some((before, after)) = rest.split_once('<') {
        text_only(before)?;
        let (tag, behind) = after.split_once('>').ok_or("a tag without an end")?;
        rest = behind;
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        if let Some(name) = name.strip_prefix('/') {
            let last = open.pop();
            (last == Some(name)).then_some(()).ok_or(format!("{name} closes {last:?}"))?;
            continue;
        }
        allowed.split(' ').find(|allowed| *allowed == name).ok_or(format!("a tag {name}"))?;
        let attributes_ok = match name {
            "br" | "hr" => attributes == "/",
            "a" => ["http", "mailto:"].iter().any(|start| {
                attributes.to_lowercase().starts_with(&format!("href=\"{start}")) && one_value(attributes)
            }),
            "code" => {
                attributes.is_empty() || attributes.starts_with("class=\"language-") && one_value(attributes)
            }
            "ol" => attributes.is_empty() || attributes.starts_with("start=\"") && one_value(attributes),
            _ => attributes.is_empty(),
        };
        attributes_ok.then_some(()).ok_or(format!("{name} with {attributes}"))?;
        if !matches!(name, "br" | "hr") {
            open.push(name);
        }
    }
    text_only(rest)?;
    open.is_empty().then_some(()).ok_or(format!("left open: {open:?}"))
}

fn one_value(attributes: &str) -> bool {
    attributes.matches('"').count() == 2 && attributes.ends_with('"')
}

fn text_only(text: &str) -> Result<(), String> {
    let known = ["&amp;", "&lt;", "&gt;", "&quot;", "&#x27;"];
    let bare =
        text.match_indices('&').find(|(at, _)| !known.iter().any(|known| text[*at..].starts_with(known)));
    (bare.is_none() && !text.contains('>')).then_some(()).ok_or(format!("bare signs in {text:?}"))
}

#[test]
fn hostile_text_stays_text() {
    for text in HOSTILE {
        assert_eq!(check(&matrix(text), MATRIX_TAGS), Ok(()), "{text:?} became {}", matrix(text));
        assert_eq!(check(&telegram(text), TELEGRAM_TAGS), Ok(()), "{text:?} became {}", telegram(text));
    }
    assert_eq!(matrix(HOSTILE[0]), "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>");
    assert_eq!(telegram(HOSTILE[0]), "&lt;script&gt;alert(1)&lt;/script&gt;");
    assert_eq!(matrix(HOSTILE[4]), "<p>a</p>");
    assert_eq!(telegram(HOSTILE[9]), "p <a href=\"https://example.org/x.png\">q</a>");
    assert_eq!(telegram(HOSTILE[10]), "<a href=\"https://b.example/\">p</a>");
}

#[test]
fn the_reader_of_these_tests_finds_what_is_wrong() {
    let wrong = [
        "<script>",
        "<b>",
        "<b></i>",
        "a < b",
        "a > b",
        "a & b",
        "<b x>y</b>",
        "<a href=\"javascript:x\">y</a>",
    ];
    for html in wrong {
        assert!(check(html, TELEGRAM_TAGS).is_err(), "{html}");
    }
}

/// Text made of what Markdown and HTML are made of.
fn tangled() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "*",
        "**",
        "_",
        "~~",
        "`",
        "```",
        "```x\n",
        "\n",
        "\n\n",
        "> ",
        "- ",
        "1. ",
        "# ",
        "|",
        "|-|-|\n",
        "[",
        "](",
        ")",
        "![",
        "<",
        ">",
        "</",
        "b",
        "a ",
        "script",
        "\"",
        "'",
        "&",
        "&lt;",
        "https://x.example",
        "javascript:",
        "  ",
        "    ",
        "\\",
        "---\n",
        "[ ] ",
        "é",
        "🦀",
        "\u{0}",
        "\t",
        "<!--",
        "-->",
        "<div>\n",
        "\r\n",
    ]);
    prop::collection::vec(pieces, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn nothing_but_allowed_tags_comes_of_any_text(text in prop_oneof![tangled(), any::<String>()]) {
        prop_assert_eq!(check(&matrix(&text), MATRIX_TAGS), Ok(()), "{}", matrix(&text));
        prop_assert_eq!(check(&telegram(&text), TELEGRAM_TAGS), Ok(()), "{}", telegram(&text));
    }
}
