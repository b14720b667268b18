//! What of a text may be shown to a person: excerpts with the values starred out and nothing that a terminal obeys.
//!
//! The attacker wrote the text and wants his bytes to reach the terminal: as an escape sequence that moves the cursor or
//! sets the title, as invisible or right-to-left characters that show another text than there is, or as the secret
//! itself in a log of a build. So every character goes through [`push_visible`], and every byte of every sensitive span
//! in the window is starred, not only those of the finding shown.

use std::ops::Range;

use forebay_scan::Family;

/// Characters of context on each side.
const CONTEXT: usize = 60;
/// Most bytes of a span that are shown; a hidden comment can be as long as its file.
const MOST_SHOWN: usize = 120;
/// Most stars in a row: the length of a long value is nobody's business either.
const MOST_STARS: usize = 24;

/// Families whose spans are values to be kept secret. The others (marks, comments, orders) are shown: they are what the
/// reader must judge.
pub(crate) fn is_sensitive(family: Family) -> bool {
    matches!(family, Family::Pii | Family::Secret)
}

/// A line of text around a finding, safe to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Excerpt {
    pub(crate) before: String,
    pub(crate) marked: String,
    pub(crate) after: String,
}

/// The spans whose bytes are never shown: sorted, not overlapping.
#[derive(Debug, Default)]
pub(crate) struct Hidden(Vec<Range<usize>>);

impl Hidden {
    /// From spans in any order.
    pub(crate) fn new(spans: impl IntoIterator<Item = Range<usize>>) -> Self {
        let mut spans: Vec<_> = spans.into_iter().collect();
        spans.sort_by_key(|s| s.start);
        let mut merged: Vec<Range<usize>> = Vec::with_capacity(spans.len());
        for s in spans {
            match merged.last_mut() {
                Some(last) if s.start <= last.end => last.end = last.end.max(s.end),
                _ => merged.push(s),
            }
        }
        Hidden(merged)
    }

    fn covers(&self, at: usize) -> bool {
        let i = self.0.partition_point(|s| s.end <= at);
        self.0.get(i).is_some_and(|s| s.start <= at)
    }

    /// The excerpt around `span`, which lies within `text`.
    pub(crate) fn excerpt(&self, text: &[u8], span: Range<usize>) -> Excerpt {
        let (start, end) = (span.start.min(text.len()), span.end.min(text.len()));
        // Four bytes a character at most: the window cannot hold more than is asked for.
        let from = start.saturating_sub(CONTEXT * 4);
        let line = from + memchr::memrchr(b'\n', &text[from..start]).map_or(0, |i| i + 1);
        let shown_end = end.min(start + MOST_SHOWN);
        let shown_end = start + memchr::memchr(b'\n', &text[start..shown_end]).unwrap_or(shown_end - start);
        let to = text.len().min(shown_end + CONTEXT * 4);
        let after_end = shown_end + memchr::memchr(b'\n', &text[shown_end..to]).unwrap_or(to - shown_end);
        let before = self.visible(text, line..start);
        let mut marked = self.visible(text, start..shown_end);
        if shown_end < end {
            marked.push('…');
        }
        let after = if shown_end < end { String::new() } else { self.visible(text, shown_end..after_end) };
        Excerpt { before: cut_before(&before, CONTEXT), marked, after: cut_behind(&after, CONTEXT) }
    }

    /// `range` of `text` with hidden bytes starred and the rest made visible.
    fn visible(&self, text: &[u8], range: Range<usize>) -> String {
        let mut out = String::with_capacity(range.len());
        let mut stars = 0;
        let mut at = range.start;
        for chunk in text[range].utf8_chunks() {
            for c in chunk.valid().chars() {
                // A character half inside a hidden span is hidden.
                if (at..at + c.len_utf8()).any(|i| self.covers(i)) {
                    star(&mut out, &mut stars);
                } else {
                    stars = 0;
                    push_visible(&mut out, c);
                }
                at += c.len_utf8();
            }
            for b in chunk.invalid() {
                if self.covers(at) {
                    star(&mut out, &mut stars);
                } else {
                    stars = 0;
                    out.push_str(&format!("\\x{b:02x}"));
                }
                at += 1;
            }
        }
        out
    }
}

/// The beginning of a text: at most `most` characters, to the end of a word if one ends near, and a mark that there is
/// more.
pub(crate) fn cut_behind(text: &str, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else { return text.to_owned() };
    // The mark is one of the characters.
    let head = &text[..end];
    let head = head.char_indices().next_back().map_or("", |(last, _)| &head[..last]);
    let word = head.rfind(between_words).filter(|i| head[*i..].chars().count() <= LONGEST_WORD);
    format!("{}…", word.map_or(head, |i| &head[..i]).trim_end())
}

/// The end of a text, in the same way.
fn cut_before(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    let from = text.char_indices().nth(length - most + 1).map_or(text.len(), |(i, _)| i);
    let tail = &text[from..];
    let word = tail.find(between_words).filter(|i| tail[..*i].chars().count() <= LONGEST_WORD);
    format!("…{}", word.map_or(tail, |i| &tail[i..]).trim_start())
}

/// Words longer than this are cut: what is left would be too little, and Chinese has no gaps.
const LONGEST_WORD: usize = 20;

fn between_words(c: char) -> bool {
    c.is_whitespace() || matches!(c, '/' | '-' | '_' | '.' | ',' | ';' | '。' | '，')
}

fn star(out: &mut String, stars: &mut usize) {
    *stars += 1;
    match *stars {
        n if n <= MOST_STARS => out.push('*'),
        n if n == MOST_STARS + 1 => out.push('…'),
        _ => {}
    }
}

/// Appends a character, or its escape if a terminal would obey it or not show it.
pub(crate) fn push_visible(out: &mut String, c: char) {
    match c {
        '\t' => out.push(' '),
        c if c.is_control() || is_invisible(c) => out.extend(c.escape_unicode()),
        c => out.push(c),
    }
}

/// A file name, safe to print.
pub(crate) fn visible_path(path: &std::path::Path) -> String {
    let mut out = String::new();
    for c in path.to_string_lossy().chars() {
        push_visible(&mut out, c);
    }
    out
}

/// Format characters, fillers, variation selectors and tags: Unicode's default-ignorable code points and the line and
/// paragraph separators.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hidden_byte_in_the_window_is_starred() {
        let text = b"first = aaaa, second = bbbb, third = c\nnext";
        let hidden = Hidden::new([23..27, 8..12]);
        let e = hidden.excerpt(text, 8..12);
        assert_eq!((e.before.as_str(), e.marked.as_str()), ("first = ", "****"));
        assert_eq!(e.after, ", second = ****, third = c");
    }

    #[test]
    fn nothing_reaches_the_terminal_as_a_command() {
        let text = "x\u{1b}[2J\u{202e}\u{e0041}\u{7}y\u{9b}".as_bytes();
        let e = Hidden::default().excerpt(text, 0..1);
        assert_eq!(e.after, "\\u{1b}[2J\\u{202e}\\u{e0041}\\u{7}y\\u{9b}");
        let e = Hidden::default().excerpt(b"a\xff\xfeb", 0..1);
        assert_eq!(e.after, "\\xff\\xfeb");
    }

    #[test]
    fn spans_of_any_place_and_length_give_an_excerpt() {
        let text = "多字节 text\n\n-----BEGIN\nbody\nEND 多".as_bytes();
        for start in 0..=text.len() {
            for end in start..=text.len() {
                let hidden = Hidden::new(std::iter::once(start..end));
                let e = hidden.excerpt(text, start..end);
                assert!(e.marked.chars().all(|c| c == '*' || c == '…'), "{start}..{end} {e:?}");
            }
        }
        let long = vec![b'k'; 10_000];
        let e = Hidden::new(std::iter::once(0..10_000)).excerpt(&long, 0..10_000);
        assert!(e.marked.chars().count() <= MOST_STARS + 2);
    }
}
