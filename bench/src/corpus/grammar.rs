//! A small grammar that texts are generated from: rules with alternatives, in a text file.
//!
//! ```text
//! # a comment
//! [sentence]                  one alternative a line, all equally likely
//! ${^noun} ${verb}.           slots: another rule; ^ makes its first letter a capital
//!
//! [noun zipf]                 the first alternatives often, the rest ever more seldom
//! river
//! boat
//!
//! [item blocks]               alternatives of several lines, with a blank line between them
//! ```
//!
//! `${3..90}` is a number from 3 to 90, `${hex 8}`, `${b64 76}`, `${url64 76}` and `${letters 5}` are random letters of
//! those alphabets; `\n`, `\t`, `\\` and `$$` stand for one character. The files in `corpora/` are the attackers here:
//! a slot without a rule is refused with its name, and rules that use each other too deep end the text with an error.

use std::collections::HashMap;

use super::sequence::Sequence;

/// Deepest use of rules by rules: the grammars need nine; one that uses itself would need any number.
const MAX_DEPTH: usize = 32;

/// A parsed grammar. Its first rule is where texts begin.
#[derive(Debug)]
pub struct Grammar {
    rules: Vec<Rule>,
}

#[derive(Debug)]
struct Rule {
    name: String,
    zipf: bool,
    alternatives: Vec<Vec<Piece>>,
}

#[derive(Debug)]
enum Piece {
    Text(Vec<u8>),
    Rule { rule: usize, capital: bool },
    Number(usize, usize),
    Letters(&'static [u8], usize),
}

impl Grammar {
    /// Parses a grammar file.
    pub fn parse(text: &str) -> Result<Grammar, String> {
        let sections = sections(text)?;
        let names: HashMap<&str, usize> = sections.iter().enumerate().map(|(i, s)| (s.name, i)).collect();
        let rules = sections
            .iter()
            .map(|s| {
                let alternatives: Result<Vec<_>, _> = s.alternatives().map(|a| pieces(&a, &names)).collect();
                let alternatives = alternatives.map_err(|e| format!("[{}]: {e}", s.name))?;
                if alternatives.is_empty() {
                    return Err(format!("[{}] has no alternative", s.name));
                }
                Ok(Rule { name: s.name.to_owned(), zipf: s.is("zipf"), alternatives })
            })
            .collect::<Result<Vec<_>, String>>()?;
        if rules.is_empty() { Err("the grammar has no rule".into()) } else { Ok(Grammar { rules }) }
    }

    /// Texts from the first rule, one behind the other, until there are `bytes`; cut there, at a whole character.
    pub fn text(&self, seed: u64, bytes: usize) -> Result<Vec<u8>, String> {
        let mut sequence = Sequence(seed);
        let mut out = Vec::with_capacity(bytes + (64 << 10));
        while out.len() < bytes {
            self.expand(0, 0, &mut sequence, &mut out)?;
        }
        let cut = (0..=bytes).rev().find(|at| out.get(*at).is_none_or(|b| b & 0xc0 != 0x80)).unwrap_or(0);
        out.truncate(cut);
        Ok(out)
    }

    fn expand(&self, rule: usize, depth: usize, s: &mut Sequence, out: &mut Vec<u8>) -> Result<(), String> {
        let rule = &self.rules[rule];
        if depth > MAX_DEPTH {
            return Err(format!("[{}] is used more than {MAX_DEPTH} rules deep: it uses itself", rule.name));
        }
        let n = rule.alternatives.len();
        let at = if rule.zipf { s.zipf(n) } else { s.below(n) };
        for piece in &rule.alternatives[at] {
            match piece {
                Piece::Text(t) => out.extend_from_slice(t),
                Piece::Number(from, to) => {
                    out.extend_from_slice((from + s.below(to - from + 1)).to_string().as_bytes())
                }
                Piece::Letters(alphabet, n) => out.extend((0..*n).map(|_| alphabet[s.below(alphabet.len())])),
                Piece::Rule { rule, capital } => {
                    let from = out.len();
                    self.expand(*rule, depth + 1, s, out)?;
                    if *capital && let Some(first) = out.get_mut(from) {
                        first.make_ascii_uppercase();
                    }
                }
            }
        }
        Ok(())
    }
}

/// A rule as it stands in the file.
struct Section<'a> {
    name: &'a str,
    flags: Vec<&'a str>,
    lines: Vec<&'a str>,
}

impl Section<'_> {
    fn is(&self, flag: &str) -> bool {
        self.flags.contains(&flag)
    }

    fn alternatives(&self) -> Box<dyn Iterator<Item = String> + '_> {
        if self.is("blocks") {
            let blocks = self.lines.split(|l| l.is_empty()).filter(|b| !b.is_empty());
            Box::new(blocks.map(|b| b.join("\n")))
        } else {
            Box::new(self.lines.iter().filter(|l| !l.is_empty()).map(|l| (*l).to_owned()))
        }
    }
}

fn sections(text: &str) -> Result<Vec<Section<'_>>, String> {
    let mut out: Vec<Section<'_>> = Vec::new();
    for line in text.lines() {
        let header = line.strip_prefix('[').and_then(|l| l.strip_suffix(']'));
        // `[]` and a link in square brackets are text.
        match header.filter(|h| h.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b' ') && !h.is_empty())
        {
            Some(h) => {
                let mut words = h.split(' ');
                let name = words.next().unwrap_or_default();
                out.push(Section { name, flags: words.collect(), lines: Vec::new() });
            }
            None => match out.last_mut() {
                Some(section) => section.lines.push(line),
                None if line.is_empty() || line.starts_with('#') => {}
                None => return Err(format!("`{line}` stands before the first rule")),
            },
        }
    }
    Ok(out)
}

fn pieces(text: &str, names: &HashMap<&str, usize>) -> Result<Vec<Piece>, String> {
    let mut out = Vec::new();
    let mut literal = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (piece, taken) = match c {
            '\\' => match rest.as_bytes().get(1) {
                Some(b'n') => (Ok(b'\n'), 2),
                Some(b't') => (Ok(b'\t'), 2),
                Some(b'\\') => (Ok(b'\\'), 2),
                _ => return Err(format!("`\\` before something else than n, t and \\ in `{rest}`")),
            },
            '$' if rest.starts_with("$$") => (Ok(b'$'), 2),
            '$' => {
                let end = rest.find('}').filter(|_| rest.starts_with("${"));
                let end = end.ok_or_else(|| format!("`$` without a slot in `{rest}`; write `$$`"))?;
                (Err(slot(&rest[2..end], names)?), end + 1)
            }
            _ => {
                literal.extend_from_slice(&rest.as_bytes()[..c.len_utf8()]);
                rest = &rest[c.len_utf8()..];
                continue;
            }
        };
        match piece {
            Ok(b) => literal.push(b),
            Err(piece) => {
                out.push(Piece::Text(std::mem::take(&mut literal)));
                out.push(piece);
            }
        }
        rest = &rest[taken..];
    }
    out.push(Piece::Text(literal));
    out.retain(|p| !matches!(p, Piece::Text(t) if t.is_empty()));
    Ok(out)
}

fn slot(text: &str, names: &HashMap<&str, usize>) -> Result<Piece, String> {
    let number = |t: &str| t.parse::<usize>().map_err(|_| format!("`{t}` in `${{{text}}}` is no number"));
    if let Some((from, to)) = text.split_once("..") {
        let (from, to) = (number(from)?, number(to)?);
        return if from <= to { Ok(Piece::Number(from, to)) } else { Err(format!("`${{{text}}}` is empty")) };
    }
    if let Some((alphabet, n)) = text.split_once(' ') {
        let alphabet: &[u8] = match alphabet {
            "hex" => b"0123456789abcdef",
            "b64" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
            "url64" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
            "letters" => b"abcdefghijklmnopqrstuvwxyz",
            other => return Err(format!("no alphabet `{other}`")),
        };
        return Ok(Piece::Letters(alphabet, number(n)?));
    }
    let (name, capital) = text.strip_prefix('^').map_or((text, false), |n| (n, true));
    let rule = *names.get(name).ok_or_else(|| format!("`${{{text}}}`: there is no rule [{name}]"))?;
    Ok(Piece::Rule { rule, capital })
}
