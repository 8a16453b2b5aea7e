//! Markdown as the HTML that a platform takes. What a model wrote is never HTML here: tags in it are shown as the letters that
//! they are, and links lead to the open web or a mailbox, nowhere else.

mod telegram;

use pulldown_cmark::{CowStr, Event, LinkType, Options, Parser, Tag, TagEnd, html};

/// Whose HTML it shall be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// The subset that Matrix' specification allows.
    Matrix,
    /// The few tags of Telegram's Bot API. Line breaks are as written; there are no blocks but quotes and code.
    Telegram,
}

/// Writes Markdown as HTML. Any text is Markdown, so this always works.
pub fn to_html(markdown: &str, flavour: Flavour) -> String {
    match flavour {
        Flavour::Matrix => for_matrix(markdown),
        Flavour::Telegram => telegram::render(parsed(markdown)),
    }
}

/// What people and models write; nothing that asks for attributes or notes at the foot.
fn parsed(markdown: &str) -> Parser<'_> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    Parser::new_ext(markdown, options)
}

fn for_matrix(markdown: &str) -> String {
    let mut links = Links::default();
    let mut text = String::new();
    let events = parsed(markdown).filter_map(|event| matrix_event(event, &mut links));
    html::push_html(&mut text, events);
    text.truncate(text.trim_end().len());
    text
}

/// What an event of the text becomes for Matrix; nothing for what it would not allow.
fn matrix_event<'a>(event: Event<'a>, links: &mut Links) -> Option<Event<'a>> {
    Some(match event {
        // Text that is marked as HTML is text.
        Event::Html(html) | Event::InlineHtml(html) => Event::Text(html),
        Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
        Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
        // People who write to each other mean a line break when they make one.
        Event::SoftBreak => Event::HardBreak,
        Event::TaskListMarker(done) => Event::Text(task_mark(done).into()),
        // Alignment would be an attribute that is not allowed.
        Event::Start(Tag::Table(_)) => Event::Start(Tag::Table(Vec::new())),
        // A picture's address must be one of the homeserver's, so that it is a link to where it is.
        Event::Start(Tag::Link { link_type, dest_url, .. } | Tag::Image { link_type, dest_url, .. }) => {
            let address = links.open(link_type, &dest_url)?;
            Event::Start(Tag::Link {
                link_type: LinkType::Inline,
                dest_url: address.into(),
                title: CowStr::Borrowed(""),
                id: CowStr::Borrowed(""),
            })
        }
        Event::End(TagEnd::Link | TagEnd::Image) => links.close().then_some(Event::End(TagEnd::Link))?,
        other => other,
    })
}

fn task_mark(done: bool) -> &'static str {
    if done { "☑ " } else { "☐ " }
}

/// Which of the open links and pictures are shown as links: not those that lead somewhere else, and none inside another.
#[derive(Debug, Default)]
struct Links(Vec<bool>);

impl Links {
    /// The address of a link that is shown as one.
    fn open(&mut self, link_type: LinkType, address: &str) -> Option<String> {
        let inside = self.0.contains(&true);
        let address = if inside { None } else { safe_address(link_type, address) };
        self.0.push(address.is_some());
        address
    }

    /// Whether the link that ends here was shown.
    fn close(&mut self) -> bool {
        self.0.pop().unwrap_or(false)
    }
}

/// An address that a link may have.
fn safe_address(link_type: LinkType, address: &str) -> Option<String> {
    if link_type == LinkType::Email {
        return Some(format!("mailto:{address}"));
    }
    let (scheme, _) = address.split_once(':')?;
    let allowed = ["http", "https", "mailto"].iter().any(|allowed| scheme.eq_ignore_ascii_case(allowed));
    (allowed && !address.contains(char::is_control)).then(|| address.to_owned())
}

/// Text in which nothing is a tag, also not inside a quoted attribute.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests;
