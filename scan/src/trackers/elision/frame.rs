//! The frame of a comment body: ellipses, brackets and rulers around it, and what is left inside.
//!
//! The frame is evidence by itself: nobody writes `... (rest of the methods) ...` about something that is there.
//! The text inside comes out in lower case, full-width punctuation folded, inner ellipses as U+0001, identifiers in
//! mixed case marked with U+0002, and is rejected when it holds bytes that only code has.

/// A body without its frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Framed {
    /// What is inside, normalised.
    pub(super) text: String,
    /// An ellipsis before it (one glued to a word, as in `...and`, counts only if there is one behind, too).
    pub(super) lead: bool,
    /// An ellipsis behind it.
    pub(super) trail: bool,
    /// The whole is in brackets. (Rulers, as in `--- snip ---`, are as often those of a heading.)
    pub(super) bracket: bool,
    /// An ellipsis inside.
    pub(super) inside: bool,
    /// It began with TODO or FIXME.
    pub(super) todo: bool,
    /// It ends as a label or a question does.
    pub(super) label: bool,
}

impl Framed {
    /// Whether there is any frame.
    pub(super) fn any(&self) -> bool {
        self.lead || self.trail || self.bracket
    }

    /// Whether the frame closes on both sides.
    pub(super) fn both(&self) -> bool {
        self.lead && self.trail || self.bracket && (self.lead || self.trail || self.inside)
    }
}

/// Longest body looked at, in bytes. Elisions are short; longer comments are prose, and buffering them would let a
/// single unclosed comment hold memory.
pub(super) const MAX_BODY: usize = 256;

/// Takes the frame off. `None`: the body cannot be an elision (too long, empty, not text, code).
pub(super) fn unframe(body: &[u8]) -> Option<Framed> {
    if body.len() > MAX_BODY {
        return None;
    }
    let mut rest = std::str::from_utf8(body).ok()?.trim();
    let mut f = Framed::default();
    let mut glued = false;
    loop {
        let before = rest;
        if let Some((r, spaced)) = strip_lead_ellipsis(rest) {
            rest = r.trim_start();
            f.lead = true;
            glued = !spaced && !rest.starts_with(['(', '[', '（', '<']);
        }
        if let Some(r) = strip_trail_ellipsis(rest) {
            rest = r.trim_end();
            f.trail = true;
        }
        if let Some(r) = strip_brackets(rest) {
            rest = r.trim();
            f.bracket = true;
        }
        if let Some(r) = strip_rulers(rest) {
            rest = r.trim();
        }
        if let Some(r) = strip_todo(rest) {
            rest = r.trim_start();
            f.todo = true;
        }
        rest = rest.trim_end_matches(ENDS).trim();
        if rest == before || rest.is_empty() {
            break;
        }
    }
    if glued && !f.trail {
        f.lead = false;
    }
    if rest.is_empty() {
        return None;
    }
    f.label = rest.ends_with([':', '：', '?', '？']);
    f.text = normalise(rest, &mut f.inside)?;
    Some(f)
}

/// Whether there may be brackets around the body or an ellipsis behind it. A quick no for sentences.
pub(super) fn may_end_framed(body: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(body) else { return false };
    let mut rest = text;
    loop {
        let Some(last) = rest.chars().next_back() else { return false };
        let closes = BRACKETS.iter().any(|(_, close)| *close == last) || is_ruler(last);
        if closes || strip_trail_ellipsis(rest).is_some() {
            return true;
        }
        if !last.is_whitespace() && !ENDS.contains(&last) {
            return false;
        }
        rest = &rest[..rest.len() - last.len_utf8()];
    }
}

/// Punctuation that a sentence ends with.
const ENDS: [char; 8] = ['.', '。', '!', '！', ';', '；', ',', '，'];

/// Whether a bare line has what code has and a placeholder has not: commas, underscores, paths, calls.
pub(super) fn codelike(body: &[u8]) -> bool {
    let dotted = |w: &[u8]| w[0] != b'.' && w[1] == b'.' && w[2].is_ascii_alphanumeric();
    body.iter().any(|b| matches!(b, b',' | b'_' | b'&' | b'|' | b';' | b'*' | b'`' | b'=' | b'"'))
        || body.windows(2).any(|w| w == b"::" || w == b"()" || w[0].is_ascii_lowercase() && w[1].is_ascii_uppercase())
        || body.windows(3).any(dotted)
}

fn is_ellipsis(c: char) -> bool {
    matches!(c, '…' | '⋮' | '⋯' | '‥' | '︙' | '┄')
}

/// Length of the ellipsis that `text` starts with, in bytes.
fn ellipsis_at(text: &str) -> Option<usize> {
    let c = text.chars().next()?;
    if is_ellipsis(c) {
        let n = text.chars().take_while(|c| is_ellipsis(*c)).map(char::len_utf8).sum();
        return Some(n);
    }
    if matches!(c, '.' | '。' | '・' | '·' | '．') {
        let n = text.chars().take_while(|d| *d == c).count();
        return (n >= 3).then_some(n * c.len_utf8());
    }
    None
}

fn strip_lead_ellipsis(text: &str) -> Option<(&str, bool)> {
    let n = ellipsis_at(text)?;
    let rest = &text[n..];
    Some((rest, rest.starts_with(char::is_whitespace) || text.chars().next().is_some_and(|c| c != '.')))
}

fn strip_trail_ellipsis(text: &str) -> Option<&str> {
    let last = text.chars().next_back()?;
    let same = |c: char| if is_ellipsis(last) { is_ellipsis(c) } else { c == last };
    let run: usize = text.chars().rev().take_while(|c| same(*c)).map(char::len_utf8).sum();
    let start = text.len() - run;
    (ellipsis_at(&text[start..])? == run).then(|| &text[..start])
}

const BRACKETS: [(char, char); 10] = [
    ('(', ')'),
    ('[', ']'),
    ('（', '）'),
    ('【', '】'),
    ('［', '］'),
    ('〔', '〕'),
    ('<', '>'),
    ('«', '»'),
    ('〈', '〉'),
    ('{', '}'),
];

/// Brackets around the whole: the first closes with the last, not before.
fn strip_brackets(text: &str) -> Option<&str> {
    let (open, close) = BRACKETS.into_iter().find(|(o, c)| text.starts_with(*o) && text.ends_with(*c))?;
    let inner = &text[open.len_utf8()..text.len().checked_sub(close.len_utf8())?];
    let mut depth = 0i32;
    for c in inner.chars() {
        depth += i32::from(c == open) - i32::from(c == close);
        if depth < 0 {
            return None;
        }
    }
    (depth == 0).then_some(inner)
}

fn is_ruler(c: char) -> bool {
    matches!(c, '-' | '=' | '*' | '~' | '#' | '─' | '—' | '%' | '/' | '+')
}

/// Rulers on both sides: `--- snip ---`, `=== … ===`, `***`, `>>> <<<`.
fn strip_rulers(text: &str) -> Option<&str> {
    let first = text.chars().next()?;
    if !is_ruler(first) || !text.ends_with(first) {
        return None;
    }
    let inner = text.trim_matches(first);
    (text.len() - inner.len() >= 4).then_some(inner)
}

fn strip_todo(text: &str) -> Option<&str> {
    for word in ["TODO", "FIXME", "todo", "Todo", "XXX", "NOTE", "Note"] {
        if let Some(r) = text.strip_prefix(word) {
            return r.strip_prefix(':').or_else(|| r.strip_prefix('：')).or_else(|| r.strip_prefix(" -"));
        }
    }
    None
}

/// Lower case, full-width forms folded, white space as one blank. `None` when it holds bytes that only code has.
fn normalise(text: &str, inside: &mut bool) -> Option<String> {
    let mut out = String::with_capacity(text.len() + 8);
    let mut rest = text;
    let mut last_lower = false;
    while let Some(c) = rest.chars().next() {
        if let Some(n) = ellipsis_at(rest) {
            out.push('\u{1}');
            *inside = true;
            rest = &rest[n..];
            continue;
        }
        rest = &rest[c.len_utf8()..];
        match c {
            '=' | '{' | '}' | '<' | '>' | '$' | '@' | '\\' | '^' | '"' | '+' | '%' | '~' | '#' | '?' | '“' | '”' => {
                return None;
            }
            c if c.is_control() && c != '\t' && c != '\n' && c != '\r' => return None,
            '\u{ff01}'..='\u{ff5e}' => {
                let folded = char::from_u32(u32::from(c) - 0xfee0)?;
                out.extend(folded.to_lowercase());
            }
            c if c.is_whitespace() || c == '\u{200b}' || c == '\u{feff}' => {
                if !out.ends_with(' ') {
                    out.push(' ');
                }
            }
            '(' if rest.starts_with(')') => {
                out.push('\u{2}'); // a call: the word before it is a name
                rest = &rest[1..];
            }
            c if c.is_uppercase() && last_lower => {
                // handleClick: mixed case inside a word is an identifier
                out.extend(c.to_lowercase());
                out.push('\u{2}');
            }
            c => out.extend(c.to_lowercase()),
        }
        last_lower = c.is_lowercase();
    }
    Some(out)
}
