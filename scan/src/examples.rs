//! Examples in packs, and how they are put together at run time.
//!
//! A repository full of key-shaped strings trips every secret scanner, so the examples of a rule are written in
//! pieces. In an example text
//!
//! - `{+}` is removed: `gh{+}p_…`
//! - `{alnum*36}` becomes 36 characters of that alphabet, always the same ones: `digit`, `lower`, `upper`, `alpha`,
//!   `alnum`, `hex`, `HEX`, `base32`, `base64`, `base64url`, `b32lower`; a second number picks another sequence:
//!   `{hex*32*2}`
//! - `{LF}`, `{CR}`, `{TAB}`, `{ESC}` and `{U+200B}` are those characters; `{{` is a literal `{`.

/// Puts an example together. Errors name the piece that is not understood.
pub fn expand(example: &str) -> Result<String, String> {
    let mut out = String::with_capacity(example.len() + 64);
    let mut rest = example;
    while let Some(open) = rest.find('{') {
        out.push_str(&rest[..open]);
        rest = &rest[open + 1..];
        if let Some(r) = rest.strip_prefix('{') {
            out.push('{');
            rest = r;
            continue;
        }
        let close = rest.find('}').ok_or("`{` without `}`; write `{{` for a literal brace")?;
        piece(&rest[..close], &mut out)?;
        rest = &rest[close + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

fn piece(name: &str, out: &mut String) -> Result<(), String> {
    let plain = match name {
        "+" => Some(""),
        "LF" => Some("\n"),
        "CR" => Some("\r"),
        "TAB" => Some("\t"),
        "ESC" => Some("\u{1b}"),
        _ => None,
    };
    if let Some(text) = plain {
        out.push_str(text);
        return Ok(());
    }
    if let Some(hex) = name.strip_prefix("U+") {
        let c = u32::from_str_radix(hex, 16).ok().and_then(char::from_u32);
        out.push(c.ok_or_else(|| format!("`{{{name}}}` is not a character"))?);
        return Ok(());
    }
    let mut parts = name.split('*');
    let alphabet = match parts.next() {
        Some("digit") => "0123456789",
        Some("lower") => "abcdefghijklmnopqrstuvwxyz",
        Some("upper") => "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        Some("alpha") => "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
        Some("alnum") => "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
        Some("hex") => "0123456789abcdef",
        Some("HEX") => "0123456789ABCDEF",
        Some("base32") => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
        Some("b32lower") => "abcdefghijklmnopqrstuvwxyz234567",
        Some("base64") => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        Some("base64url") => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
        _ => return Err(format!("`{{{name}}}` is not understood; write `{{{{` for a literal brace")),
    };
    let n: usize = parts
        .next()
        .and_then(|n| n.parse().ok())
        .filter(|n| *n <= 100_000)
        .ok_or_else(|| format!("`{{{name}}}` needs a length of at most 100000, as in `{{alnum*36}}`"))?;
    let seed: u64 = parts.next().map_or(Ok(1), str::parse).map_err(|_| format!("`{{{name}}}`: bad number"))?;
    // splitmix64: any fixed sequence without visible pattern will do.
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ n as u64;
    let letters = alphabet.as_bytes();
    for _ in 0..n {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        out.push(char::from(letters[(z % letters.len() as u64) as usize]));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::expand;

    #[test]
    fn pieces() {
        assert_eq!(expand("a{+}b{LF}{{c}").as_deref(), Ok("ab\n{c}"));
        assert_eq!(expand("{digit*12}").map(|s| s.len()), Ok(12));
        assert_ne!(expand("{hex*8}"), expand("{hex*8*2}"));
        assert_eq!(expand("{U+200B}").as_deref(), Ok("\u{200b}"));
        assert!(expand("{nope}").is_err() && expand("{").is_err());
    }
}
