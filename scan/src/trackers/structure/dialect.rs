//! Dialects: what the code reader must know about a language to find its strings, comments and brackets.

/// How a quote character works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quote {
    /// It is no quote.
    None,
    /// A string that ends on its line.
    Line,
    /// A string that may run over lines.
    Multi,
    /// A character or a lifetime.
    Char,
    /// A template with `${…}`.
    Template,
    /// A string over lines without escapes.
    Raw,
}

/// A language, as far as the code reader cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    /// `#` begins a comment.
    pub(super) hash: bool,
    /// `//` begins a comment.
    pub(super) slashes: bool,
    /// `--` begins a comment.
    pub(super) dashes: bool,
    /// `/* */`
    pub(super) block: bool,
    /// `/* /* */ */`
    pub(super) nested: bool,
    pub(super) single: Quote,
    pub(super) double: Quote,
    pub(super) backtick: Quote,
    /// `"""` (and `'''` where `'` is a string).
    pub(super) triple: bool,
    /// A quote is escaped by doubling it, not by a backslash.
    pub(super) doubled: bool,
    /// `$tag$ … $tag$`
    pub(super) dollar: bool,
    /// `r#"…"#`
    pub(super) hashes: bool,
    /// `/…/` can be a regular expression.
    pub(super) regex: bool,
    /// Lines that begin with `#` are directives; conditional ones make brackets uncertain.
    pub(super) directives: bool,
    /// `<<TAG`
    pub(super) heredoc: bool,
    /// Brackets balance.
    pub(super) brackets: bool,
}

const PLAIN: Dialect = Dialect {
    hash: false,
    slashes: false,
    dashes: false,
    block: false,
    nested: false,
    single: Quote::None,
    double: Quote::Line,
    backtick: Quote::None,
    triple: false,
    doubled: false,
    dollar: false,
    hashes: false,
    regex: false,
    directives: false,
    heredoc: false,
    brackets: true,
};

pub(super) const RUST: Dialect = Dialect {
    slashes: true,
    block: true,
    nested: true,
    single: Quote::Char,
    double: Quote::Multi,
    hashes: true,
    ..PLAIN
};
pub(super) const PYTHON: Dialect = Dialect { hash: true, single: Quote::Line, triple: true, ..PLAIN };
pub(super) const SCRIPT: Dialect =
    Dialect { slashes: true, block: true, single: Quote::Line, backtick: Quote::Template, regex: true, ..PLAIN };
pub(super) const C: Dialect =
    Dialect { slashes: true, block: true, single: Quote::Char, directives: true, triple: true, ..PLAIN };
pub(super) const GO: Dialect =
    Dialect { slashes: true, block: true, single: Quote::Char, backtick: Quote::Raw, ..PLAIN };
pub(super) const SQL: Dialect = Dialect {
    dashes: true,
    block: true,
    single: Quote::Multi,
    double: Quote::Multi,
    backtick: Quote::Raw,
    doubled: true,
    dollar: true,
    ..PLAIN
};
pub(super) const SHELL: Dialect =
    Dialect { hash: true, single: Quote::Raw, double: Quote::Multi, heredoc: true, brackets: false, ..PLAIN };
pub(super) const TOML: Dialect = Dialect { hash: true, single: Quote::Line, triple: true, ..PLAIN };
pub(super) const CSS: Dialect = Dialect { block: true, single: Quote::Line, ..PLAIN };
