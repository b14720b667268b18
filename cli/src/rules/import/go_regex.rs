//! From the regular expressions of Go (RE2) to those of `regex-syntax`.
//!
//! The two differ in spelling more than in power. Go takes a `{` that opens no count, a `[` inside a class and a bare
//! `--` for themselves, and `\<` for a bracket; the other side gives each a meaning. `\s` has no vertical tab in Go, and
//! `\xff` is a character, not a byte. So the text is read here token by token and written again in the part of the
//! grammar that both agree on. It is *not* a judge of the expression: nesting, sizes and empty repeats are left to the
//! parser that reads the result.
//!
//! The attacker is the author of the configuration: the text is read once, and what is written is a small multiple of it.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::Hir;

/// Longest expression that is read, in bytes. The longest in public use (a list of allowed names) has 2,000.
pub(super) const MAX_REGEX: usize = 64 << 10;
/// Largest count of a repeat: Go's own limit.
const MAX_REPEAT: u32 = 1000;

/// An expression of Go in the spelling of `regex-syntax`: bytes, Unicode off, `^` and `$` the ends of the text.
/// Groups keep their numbers and lose their names.
pub(super) fn translate(go: &str) -> Result<String, String> {
    if go.len() > MAX_REGEX {
        return Err(format!("the expression has {} bytes, more than {MAX_REGEX}", go.len()));
    }
    let mut r = Reader { rest: go, out: String::with_capacity(go.len() * 2) };
    while let Some(c) = r.take() {
        match c {
            '\\' => r.escape()?,
            '[' => r.class()?,
            '(' => r.group()?,
            '{' => r.brace()?,
            '.' | '|' | ')' | '*' | '+' | '?' | '^' | '$' => r.out.push(c),
            _ => r.literal(c),
        }
    }
    Ok(r.out)
}

/// Parses what [`translate`] wrote.
pub(super) fn parse(translated: &str) -> Result<Hir, String> {
    ParserBuilder::new()
        .utf8(false)
        .unicode(false)
        .nest_limit(64)
        .build()
        .parse(translated)
        // Without its place: what it counts in is the translation.
        .map_err(|e| {
            e.to_string().lines().last().unwrap_or("bad expression").trim().trim_start_matches("error: ").to_owned()
        })
}

struct Reader<'a> {
    rest: &'a str,
    out: String,
}

/// What stands in a class.
enum Member {
    Char(char),
    /// Written already; `true` if it needs Unicode.
    Set(String, bool),
}

impl Reader<'_> {
    fn take(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn take_if(&mut self, text: &str) -> bool {
        let found = self.rest.strip_prefix(text);
        self.rest = found.unwrap_or(self.rest);
        found.is_some()
    }

    /// A character for itself, outside a class.
    fn literal(&mut self, c: char) {
        if c.is_ascii() {
            push_char(&mut self.out, c);
        } else {
            self.out.push_str("(?u:");
            push_char(&mut self.out, c);
            self.out.push(')');
        }
    }

    /// Behind a backslash, outside a class.
    fn escape(&mut self) -> Result<(), String> {
        match self.rest.chars().next() {
            Some(c @ ('A' | 'z' | 'b' | 'B')) => {
                self.take();
                self.out.push('\\');
                self.out.push(c);
            }
            Some('Q') => {
                self.take();
                let end = self.rest.find("\\E").unwrap_or(self.rest.len());
                let quoted = &self.rest[..end];
                self.rest = self.rest[end..].strip_prefix("\\E").unwrap_or("");
                for c in quoted.chars() {
                    self.literal(c);
                }
            }
            Some('E') => drop(self.take()),
            _ => match self.escaped()? {
                Member::Char(c) => self.literal(c),
                Member::Set(set, unicode) => {
                    self.out.push_str(if unicode { "(?u:[" } else { "[" });
                    self.out.push_str(&set);
                    self.out.push_str(if unicode { "])" } else { "]" });
                }
            },
        }
        Ok(())
    }

    /// Behind a backslash: what classes may hold, too.
    fn escaped(&mut self) -> Result<Member, String> {
        let c = self.take().ok_or("a backslash ends the expression")?;
        let one = |c: char| Ok(Member::Char(c));
        match c {
            'd' | 'D' | 'w' | 'W' | 's' | 'S' => {
                let set = match c.to_ascii_lowercase() {
                    'd' => "0-9",
                    'w' => "0-9A-Za-z_",
                    _ => r"\t\n\x0c\r ",
                };
                let set = if c.is_ascii_uppercase() { format!("[^{set}]") } else { set.to_owned() };
                Ok(Member::Set(set, false))
            }
            'p' | 'P' => self.property(c == 'P'),
            'a' => one('\x07'),
            'f' => one('\x0c'),
            't' => one('\t'),
            'n' => one('\n'),
            'r' => one('\r'),
            'v' => one('\x0b'),
            'x' => self.hex(),
            '0'..='7' => self.octal(c),
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => one(c),
            c => Err(format!("`\\{c}` has no meaning in Go's syntax")),
        }
    }

    fn hex(&mut self) -> Result<Member, String> {
        let digits = if self.take_if("{") {
            let end = self.rest.find('}').ok_or("`\\x{` without `}`")?;
            let digits = &self.rest[..end];
            self.rest = &self.rest[end + 1..];
            digits
        } else {
            let digits = self.rest.get(..2).ok_or("`\\x` without two digits")?;
            self.rest = &self.rest[2..];
            digits
        };
        let c = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
        c.map(Member::Char).ok_or_else(|| format!("`\\x{{{digits}}}` is not a character"))
    }

    fn octal(&mut self, first: char) -> Result<Member, String> {
        let next = self.rest.chars().next().filter(|c| matches!(c, '0'..='7'));
        if first != '0' && next.is_none() {
            return Err(format!("`\\{first}` refers back to a group, which neither Go nor Forebay can do"));
        }
        let more = self.rest.bytes().take(2).take_while(|b| matches!(b, b'0'..=b'7')).count();
        let digits = format!("{first}{}", &self.rest[..more]);
        self.rest = &self.rest[more..];
        let c = u32::from_str_radix(&digits, 8).ok().and_then(char::from_u32);
        c.map(Member::Char).ok_or_else(|| format!("`\\{digits}` is not a character"))
    }

    /// Behind `\p` or `\P`.
    fn property(&mut self, negated: bool) -> Result<Member, String> {
        let name = if self.take_if("{") {
            let end = self.rest.find('}').ok_or("`\\p{` without `}`")?;
            let name = &self.rest[..end];
            self.rest = &self.rest[end + 1..];
            name.to_owned()
        } else {
            self.take().ok_or("`\\p` without a name")?.to_string()
        };
        let (name, inner) = name.strip_prefix('^').map_or((name.as_str(), false), |n| (n, true));
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return Err(format!("`\\p{{{name}}}` is not the name of a class"));
        }
        Ok(Member::Set(format!("\\{}{{{name}}}", if negated != inner { 'P' } else { 'p' }), true))
    }

    /// Behind `[`.
    fn class(&mut self) -> Result<(), String> {
        let unclosed = "a class has no closing `]`";
        let negated = self.take_if("^");
        let mut set = String::new();
        let mut unicode = false;
        let mut first = true;
        loop {
            if !first && self.take_if("]") {
                break;
            }
            first = false;
            let low = match self.member().ok_or(unclosed)?? {
                Member::Set(s, u) => {
                    set.push_str(&s);
                    unicode |= u;
                    continue;
                }
                Member::Char(c) => c,
            };
            let mut high = low;
            if self.rest.starts_with('-') && !self.rest.starts_with("-]") {
                self.take();
                match self.member().ok_or(unclosed)?? {
                    Member::Char(c) if c >= low => high = c,
                    _ => return Err(format!("a range of a class that begins with `{low}` does not end behind it")),
                }
            }
            push_char(&mut set, low);
            if high != low {
                set.push('-');
                push_char(&mut set, high);
            }
            unicode |= !high.is_ascii();
        }
        let open = if negated { "[^" } else { "[" };
        self.out.push_str(&if unicode { format!("(?u:{open}{set}])") } else { format!("{open}{set}]") });
        Ok(())
    }

    /// One member of a class.
    fn member(&mut self) -> Option<Result<Member, String>> {
        if self.rest.starts_with("[:")
            && let Some(end) = self.rest.find(":]")
        {
            let name = &self.rest[2..end];
            let letters = name.strip_prefix('^').unwrap_or(name);
            if !letters.is_empty() && letters.bytes().all(|b| b.is_ascii_lowercase()) {
                self.rest = &self.rest[end + 2..];
                return Some(Ok(Member::Set(format!("[:{name}:]"), false)));
            }
        }
        match self.take()? {
            '\\' => Some(self.escaped()),
            c => Some(Ok(Member::Char(c))),
        }
    }

    /// Behind `(`.
    fn group(&mut self) -> Result<(), String> {
        self.out.push('(');
        if !self.take_if("?") {
            return Ok(());
        }
        if self.rest.starts_with("<=") || self.rest.starts_with("<!") {
            return Err("neither Go nor Forebay has look-behind".to_owned());
        }
        if self.take_if("P<") || self.take_if("<") {
            let end = self.rest.find('>').ok_or("the name of a group has no closing `>`")?;
            let name = &self.rest[..end];
            if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
                return Err(format!("`{name}` is not the name of a group"));
            }
            self.rest = &self.rest[end + 1..];
            return Ok(());
        }
        let end = self.rest.find([':', ')']).ok_or("flags without `)`")?;
        let flags = &self.rest[..end];
        if !flags.bytes().all(|b| b"imsU-".contains(&b)) {
            return Err(format!("`(?{flags}` is not in Go's syntax (it has no look-around)"));
        }
        self.out.push('?');
        self.out.push_str(flags);
        self.rest = &self.rest[end..];
        if let Some(c) = self.take() {
            self.out.push(c);
        }
        Ok(())
    }

    /// Behind `{`: a count, or a brace for itself.
    fn brace(&mut self) -> Result<(), String> {
        let count = self.rest.find('}').map(|end| &self.rest[..end]).filter(|c| is_count(c));
        let Some(count) = count else {
            self.literal('{');
            return Ok(());
        };
        let big = |n: &str| !n.is_empty() && n.parse::<u32>().map_or(true, |n| n > MAX_REPEAT);
        if count.split(',').any(big) {
            return Err(format!("`{{{count}}}` repeats more than {MAX_REPEAT} times, which Go does not take either"));
        }
        self.out.push('{');
        self.out.push_str(count);
        self.out.push('}');
        self.rest = &self.rest[count.len() + 1..];
        Ok(())
    }
}

/// `3`, `3,` or `3,5`.
fn is_count(text: &str) -> bool {
    let digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
    match text.split_once(',') {
        None => !text.is_empty() && digits(text),
        Some((least, most)) => !least.is_empty() && digits(least) && digits(most),
    }
}

/// A character for itself, inside a class or outside: in a spelling that is nothing else.
fn push_char(out: &mut String, c: char) {
    match c {
        '0'..='9' | 'A'..='Z' | 'a'..='z' => out.push(c),
        _ if c.is_ascii() => out.push_str(&format!("\\x{:02x}", c as u32)),
        _ => out.push_str(&format!("\\x{{{:x}}}", c as u32)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the expression is found in a text.
    fn finds(go: &str, text: &str) -> bool {
        let r = translate(go).unwrap_or_else(|e| format!("error: {e}"));
        regex::bytes::RegexBuilder::new(&r).unicode(false).build().is_ok_and(|r| r.is_match(text.as_bytes()))
    }

    /// Spellings from Go's documentation that `regex-syntax` reads otherwise: (expression, in, not in).
    #[test]
    fn what_go_means() {
        let cases: &[(&str, &str, &str)] = &[
            (r"^\${[a-z]+}$", "${ab}", "$ab"),
            (r"^{{[^}]+}}$", "{{a b}}", "{a}"),
            (r"^a{,3}$", "a{,3}", "aaa"),
            (r"^x{2,3}$", "xxx", "x"),
            (r"^[[a&&b]+$", "[&b", "c"),
            (r"^[]a]+$", "]a", "b"),
            (r"^[^]a]+$", "[b", "]"),
            (r"^[+--]+$", "+,-", "."),
            (r"^[a-c~~x]+$", "~x", "d"),
            (r"^[\w.-]+$", "a-b.c", "a b"),
            (r"^\s$", " ", "\u{b}"),
            (r"^[\S]$", "\u{b}", "\t"),
            (r"^\<a\>$", "<a>", "a"),
            (r"^\x60\101\x{41}\a$", "`AA\u{7}", "`AA"),
            (r"^\Qa.b\E.$", "a.bc", "axbc"),
            (r"^[[:alnum:]_]+$", "a1_", "-"),
            (r"^[[:^digit:]]+$", "ab", "1"),
            (r"^\pL+$", "häß", "1"),
            (r"^[\p{Greek}\d]+$", "αβ1", "a"),
            (r"^\p{^Greek}$", "a", "α"),
            (r"^密[码钥]$", "密钥", "密"),
            (r"^\xe9$", "é", "e"),
            (r"^(?i:ab)(?-i:C)(?P<x>d)(?<y>e)$", "ABCde", "ABcde"),
            (r"^a\z", "a", "a\n"),
            (r"(?m)^a$", "b\na\nc", "ab"),
            (r"^\/\%\_$", "/%_", "/%"),
        ];
        for (go, yes, no) in cases {
            assert!(finds(go, yes), "{go} must be found in {yes:?}: {:?}", translate(go));
            assert!(!finds(go, no), "{go} must not be found in {no:?}: {:?}", translate(go));
        }
    }

    #[test]
    fn what_go_has_not() {
        for bad in [r"\1", r"(?=a)", r"(?<!a)", r"a{1001}", r"\y", r"[z-a]", r"[a", r"a\", r"\p{", r"(?x)a", r"\x1"] {
            assert!(translate(bad).is_err(), "{bad}: {:?}", translate(bad));
        }
        assert!(translate(&"a".repeat(MAX_REGEX + 1)).is_err());
    }
}
