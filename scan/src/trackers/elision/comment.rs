//! Where a line holds a comment that could be an elision: the whole line, or the only content of a bracket pair.
//!
//! Works on one line at a time, without its line feed. It knows comment openers, not languages: `#` is a comment in
//! Python and a heading in Markdown, so the opener is reported and the grammar's caller weighs it.

use std::ops::Range;

use crate::trackers::block;

/// How a line introduces its comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opener {
    /// `//`
    Slashes,
    /// `#`, and how often
    Hash(u8),
    /// `--`
    Dashes,
    /// `;`
    Semicolon,
    /// `%`
    Percent,
    /// `/* */`, `<!-- -->`, `{/* */}`, `(* *)`, `{# #}`
    Block,
    /// `'` of Basic, `"` of Vim script, `*` inside a block comment
    Other,
    /// No comment at all: a bare line
    Bare,
}

/// A comment that takes the whole line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Whole {
    pub(super) opener: Opener,
    /// The comment with its opener and closer, in the line.
    pub(super) span: Range<usize>,
    /// The body between them.
    pub(super) body: Range<usize>,
}

/// What a line is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A comment and nothing else.
    Whole(Whole),
    /// A block comment opens the line and does not close on it. The index of its pair in [`BLOCKS`].
    Opens(Range<usize>, usize),
    /// Anything else.
    Code,
}

/// Block comments: what opens and what closes them. Longer openers first.
pub(super) const BLOCKS: [(&[u8], &[u8]); 7] = [
    (b"{/*", b"*/}"),
    (b"{{!--", b"--}}"),
    (b"<!--", b"-->"),
    (b"<%--", b"--%>"),
    (b"/*", b"*/"),
    (b"(*", b"*)"),
    (b"{#", b"#}"),
];

/// Reads a line (no line feed; trailing blanks allowed) with its [`indent`].
pub(super) fn shape(line: &[u8], blanks: usize) -> Shape {
    let mut start = blanks;
    let mut end = line.len();
    while end > start && line[end - 1].is_ascii_whitespace() {
        end -= 1;
    }
    // One `+` of a diff before a comment.
    if line.get(start) == Some(&b'+') {
        let after = start + 1 + indent(&line[start + 1..end]);
        if opener_at(&line[after..end]).is_some() || BLOCKS.iter().any(|(o, _)| line[after..end].starts_with(o)) {
            start = after;
        }
    }
    let text = &line[start..end];
    if text.is_empty() {
        return Shape::Code;
    }
    for (i, (open, close)) in BLOCKS.iter().enumerate() {
        if open[0] != text[0] || !text.starts_with(open) {
            continue;
        }
        return match find(&text[open.len()..], close) {
            Some(at) if open.len() + at + close.len() == text.len() => {
                let mut body = start + open.len()..start + open.len() + at;
                while body.start < body.end && matches!(line[body.start], b'*' | b'!') {
                    body.start += 1;
                }
                Shape::Whole(Whole { opener: Opener::Block, span: start..end, body })
            }
            Some(_) => Shape::Code,
            None => Shape::Opens(start..end, i),
        };
    }
    if let Some((opener, n)) = opener_at(text) {
        return Shape::Whole(Whole { opener, span: start..end, body: start + n..end });
    }
    let last = text[text.len() - 1];
    if matches!(text[0], b'[' | b'(' | b'.' | 0xe2 | 0xe3 | 0xef)
        && (matches!(last, b']' | b')' | b'.') || !last.is_ascii())
        || text.ends_with(b"...")
    {
        return Shape::Whole(Whole { opener: Opener::Bare, span: start..end, body: start..end });
    }
    Shape::Code
}

/// Whether a line can be a comment, by its first byte behind the blanks and its last.
#[inline]
pub(super) fn may_be_whole(line: &[u8], blanks: usize) -> bool {
    let opens = line.get(blanks).is_some_and(|first| {
        matches!(
            first,
            b'/' | b'#'
                | b'-'
                | b';'
                | b'%'
                | b'\''
                | b'"'
                | b'*'
                | b'+'
                | b'{'
                | b'<'
                | b'('
                | b'['
                | b'.'
                | 0xe2
                | 0xe3
                | 0xef
        )
    });
    opens || line.last().is_some_and(|last| *last == b'.' || last.is_ascii_whitespace())
}

/// The line comment opener at the start of `text` and its length.
pub(super) fn opener_at(text: &[u8]) -> Option<(Opener, usize)> {
    let run = |b: u8| text.iter().take_while(|c| **c == b).count();
    let spaced = |n: usize| {
        text.get(n).is_none_or(|b| b.is_ascii_whitespace() || !b.is_ascii() || *b == b'.' || *b == b'(' || *b == b'[')
    };
    match text.first()? {
        b'/' => {
            let n = run(b'/');
            (n >= 2).then_some((Opener::Slashes, n + usize::from(text.get(n) == Some(&b'!'))))
        }
        b'#' => {
            let n = run(b'#');
            let attribute = text.get(n).is_some_and(|b| matches!(b, b'[' | b'!'));
            (!attribute).then_some((Opener::Hash(u8::try_from(n).unwrap_or(u8::MAX)), n))
        }
        b'-' => {
            let n = run(b'-');
            (n >= 2 && spaced(n)).then_some((Opener::Dashes, n))
        }
        b';' => {
            let n = run(b';');
            Some((Opener::Semicolon, n))
        }
        b'%' => {
            let n = run(b'%');
            Some((Opener::Percent, n))
        }
        b'\'' | b'"' if text.get(1) == Some(&b' ') => Some((Opener::Other, 1)),
        b'*' if text.get(1) == Some(&b' ') => Some((Opener::Other, 1)),
        _ => None,
    }
}

/// A block comment that is the only content of a bracket pair or of an element: the ranges of comment and body.
/// `at` is where `/*` or `<!--` stands in the line.
pub(super) fn only_content(line: &[u8], at: usize) -> Option<Whole> {
    let (open, close) = BLOCKS.iter().find(|(o, _)| line[at..].starts_with(o))?;
    let inner = at + open.len();
    let len = find(&line[inner..], close)?;
    let end = inner + len + close.len();
    let before = line[..at].iter().rposition(|b| !b.is_ascii_whitespace())?;
    let after = end + indent(&line[end..]);
    let fits = match line[before] {
        b'{' => line.get(after) == Some(&b'}'),
        b'(' => line.get(after) == Some(&b')'),
        b'[' => line.get(after) == Some(&b']'),
        b'>' => line.get(after) == Some(&b'<'),
        _ => false,
    };
    if !fits || in_string(&line[..at]) {
        return None;
    }
    Some(Whole { opener: Opener::Block, span: at..end, body: inner..inner + len })
}

/// Whether a string is open at the end of the text before a comment: an odd number of double quotes or backticks.
/// Apostrophes are prose too often to count.
fn in_string(before: &[u8]) -> bool {
    let odd = |q: u8| {
        let mut n = 0usize;
        let mut escaped = false;
        for b in before {
            if *b == q && !escaped {
                n += 1;
            }
            escaped = *b == b'\\' && !escaped;
        }
        n % 2 == 1
    };
    odd(b'"') || odd(b'`')
}

/// Blanks at the start.
pub(super) fn indent(line: &[u8]) -> usize {
    block::blanks(line)
}

pub(super) fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    memchr::memmem::find(haystack, needle)
}

/// Whether what follows closes the block in which a comment stands.
pub(super) fn closes(next: &[u8], comment_indent: usize) -> bool {
    let n = indent(next);
    let text = &next[n..];
    if n < comment_indent {
        return true;
    }
    if text.first().is_some_and(|b| matches!(b, b')' | b'}' | b']')) {
        return true;
    }
    const CLOSERS: [&[u8]; 17] = [
        b"</",
        b"```",
        b"~~~",
        b"end",
        b"END",
        b"fi",
        b"done",
        b"esac",
        b"PRIMARY KEY",
        b"FOREIGN KEY",
        b"CONSTRAINT",
        b"UNIQUE",
        b"INDEX",
        b"primary key",
        b"foreign key",
        b"constraint",
        b"KEY ",
    ];
    CLOSERS.iter().any(|c| {
        text.starts_with(c)
            && (!c[0].is_ascii_alphabetic()
                || !text.get(c.len()).is_some_and(u8::is_ascii_alphanumeric)
                || c.ends_with(b" "))
    })
}
