//! Telegram's HTML: a line of text with marks in it. Blocks are blank lines, lists are signs before lines, tables are drawn.

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use super::{Links, escape, task_mark};

/// Renders parsed Markdown.
pub(super) fn render(events: Parser<'_>) -> String {
    let mut page = Page { at_start: true, ..Page::default() };
    for event in events {
        page.take(event);
    }
    page.text
}

#[derive(Debug, Default)]
struct Page {
    text: String,
    /// Line breaks that are due before whatever is written next. Closing tags do not count, so that none ends on a break.
    breaks: usize,
    /// Nothing can be seen yet since the beginning, of the whole or of a quote: breaks are not due here.
    at_start: bool,
    links: Links,
    /// How many of each are open; only the outermost is written.
    bold: usize,
    italic: usize,
    struck: usize,
    quotes: usize,
    /// For each open list, the number of its next item; none where items have no numbers.
    lists: Vec<Option<u64>>,
    /// The rows of an open table.
    table: Option<Vec<Vec<String>>>,
}

impl Page {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.write(&text),
            Event::Code(code) => self.code(&code),
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.write(&text);
            }
            Event::SoftBreak | Event::HardBreak => self.write_break(),
            Event::Rule => {
                self.due(2);
                self.write("———");
                self.due(2);
            }
            Event::TaskListMarker(done) => self.write(task_mark(done)),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.block(),
            Tag::Heading { .. } => {
                self.block();
                self.mark("b");
            }
            Tag::BlockQuote(_) => self.open_quote(),
            Tag::CodeBlock(kind) => self.open_code(&kind),
            Tag::List(first) => {
                self.due(if self.lists.is_empty() { 2 } else { 1 });
                self.lists.push(first);
            }
            Tag::Item => self.item(),
            Tag::Table(_) => self.table = Some(Vec::new()),
            Tag::TableHead | Tag::TableRow => self.table.iter_mut().for_each(|rows| rows.push(Vec::new())),
            Tag::TableCell => self.table.iter_mut().flat_map(|rows| rows.last_mut()).for_each(|row| {
                row.push(String::new());
            }),
            Tag::Emphasis => self.mark("i"),
            Tag::Strong => self.mark("b"),
            Tag::Strikethrough => self.mark("s"),
            Tag::Link { link_type, dest_url, .. } | Tag::Image { link_type, dest_url, .. } => {
                if let Some(address) = self.links.open(link_type, &dest_url) {
                    self.tag(&format!("<a href=\"{}\">", escape(&address)));
                }
            }
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_block(),
            TagEnd::Heading(_) => {
                self.unmark("b");
                self.end_block();
            }
            TagEnd::BlockQuote(_) => self.close_quote(),
            TagEnd::CodeBlock => {
                self.close("</code></pre>");
                self.end_block();
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.due(if self.lists.is_empty() { 2 } else { 1 });
            }
            TagEnd::Item => self.due(1),
            TagEnd::Table => self.draw_table(),
            TagEnd::Emphasis => self.unmark("i"),
            TagEnd::Strong => self.unmark("b"),
            TagEnd::Strikethrough => self.unmark("s"),
            TagEnd::Link | TagEnd::Image => {
                if self.links.close() {
                    self.close("</a>");
                }
            }
            TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::TableCell
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    /// A block stands apart, but inside a list on a line of its own.
    fn block(&mut self) {
        self.due(if self.lists.is_empty() { 2 } else { 0 });
    }

    fn end_block(&mut self) {
        self.due(if self.lists.is_empty() { 2 } else { 1 });
    }

    fn due(&mut self, breaks: usize) {
        if !self.at_start {
            self.breaks = self.breaks.max(breaks);
        }
    }

    fn flush(&mut self) {
        for _ in 0..std::mem::take(&mut self.breaks) {
            self.text.push('\n');
        }
    }

    /// Writes text; into the open cell when there is a table.
    fn write(&mut self, text: &str) {
        if let Some(cell) = self.cell() {
            cell.push_str(text);
            return;
        }
        if text.is_empty() {
            return;
        }
        self.flush();
        self.text.push_str(&escape(text));
        self.at_start = false;
    }

    fn write_break(&mut self) {
        if let Some(cell) = self.cell() {
            cell.push(' ');
        } else if !self.at_start {
            self.breaks += 1;
        }
    }

    fn cell(&mut self) -> Option<&mut String> {
        self.table.as_mut()?.last_mut()?.last_mut()
    }

    /// Writes an opening tag; a table has none, as it is drawn.
    fn tag(&mut self, tag: &str) {
        if self.table.is_none() {
            self.flush();
            self.text.push_str(tag);
        }
    }

    fn close(&mut self, tag: &str) {
        if self.table.is_none() {
            self.text.push_str(tag);
        }
    }

    fn code(&mut self, code: &str) {
        self.tag("<code>");
        self.write(code);
        self.close("</code>");
    }

    fn open_marks(&mut self, name: &str) -> &mut usize {
        match name {
            "b" => &mut self.bold,
            "i" => &mut self.italic,
            _ => &mut self.struck,
        }
    }

    fn mark(&mut self, name: &str) {
        *self.open_marks(name) += 1;
        if *self.open_marks(name) == 1 {
            self.tag(&format!("<{name}>"));
        }
    }

    fn unmark(&mut self, name: &str) {
        let open = self.open_marks(name);
        *open = open.saturating_sub(1);
        if *open == 0 {
            self.close(&format!("</{name}>"));
        }
    }

    /// Quotes do not stand inside each other there.
    fn open_quote(&mut self) {
        self.due(if self.lists.is_empty() { 2 } else { 1 });
        self.quotes += 1;
        if self.quotes == 1 {
            self.tag("<blockquote>");
            self.at_start = true;
        }
    }

    fn close_quote(&mut self) {
        self.quotes = self.quotes.saturating_sub(1);
        if self.quotes == 0 {
            self.breaks = 0;
            self.close("</blockquote>");
            self.at_start = false;
        }
        self.due(1);
    }

    fn open_code(&mut self, kind: &CodeBlockKind<'_>) {
        self.due(if self.lists.is_empty() { 2 } else { 1 });
        let language = match kind {
            CodeBlockKind::Fenced(info) => info.split_whitespace().next().unwrap_or_default(),
            CodeBlockKind::Indented => "",
        };
        if language.is_empty() {
            self.tag("<pre><code>");
        } else {
            self.tag(&format!("<pre><code class=\"language-{}\">", escape(language)));
        }
        self.at_start = false;
    }

    fn item(&mut self) {
        self.due(1);
        let depth = self.lists.len().saturating_sub(1);
        let sign = match self.lists.last_mut() {
            Some(Some(number)) => {
                let sign = format!("{number}. ");
                *number = number.saturating_add(1);
                sign
            }
            _ => "• ".to_owned(),
        };
        self.write(&format!("{}{sign}", "  ".repeat(depth)));
    }

    /// Columns of one width, as far as letters have one.
    fn draw_table(&mut self) {
        let rows = self.table.take().unwrap_or_default();
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let lines = rows.iter().map(|row| {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
            cells.collect::<Vec<_>>().join(" | ").trim_end().to_owned()
        });
        let drawn = lines.collect::<Vec<_>>().join("\n");
        self.due(if self.lists.is_empty() { 2 } else { 1 });
        self.tag("<pre>");
        self.write(&drawn);
        self.close("</pre>");
        self.end_block();
    }
}
