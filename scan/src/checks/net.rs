//! Addresses of the network: IPv4, IPv6, hardware addresses, mailboxes.

use std::net::{Ipv4Addr, Ipv6Addr};

/// An IPv4 address of a single host that means the same everywhere: not in the special-purpose blocks of the IANA registry
/// (RFC 6890: this network, private, shared, loopback, link-local, benchmarking, multicast, reserved). Those name no one
/// outside their own network and fill every log. The documentation blocks count as addresses: texts use them as such.
pub(super) fn ipv4_global(span: &[u8]) -> bool {
    let Some(ip) = ipv4_of(span) else { return false };
    let [a, b, c, d] = ip.octets();
    let special = a == 0
        || a >= 224
        || ip.is_private()
        || ip.is_loopback()
        || ip.is_link_local()
        || (a == 100 && (64..128).contains(&b))
        || (a == 198 && (b == 18 || b == 19))
        || (a == 192 && b == 0 && c == 0);
    // 1.0.0.0, 4.2.0.0, 120.0.0.0: browser and package versions. No host has the last two octets zero but rarely.
    !(special || c == 0 && d == 0)
}

/// An IPv4 address.
pub(super) fn ipv4(span: &[u8]) -> bool {
    ipv4_of(span).is_some()
}

fn ipv4_of(span: &[u8]) -> Option<Ipv4Addr> {
    std::str::from_utf8(span).ok()?.parse().ok()
}

/// An IPv6 address (RFC 4291 text form) that could belong to somebody: not `::`, not `::1`, and not so short that it is
/// more likely a slice of Python (`a[1::2]`) or a path of C++: at least four hexadecimal digits, and a decimal digit.
pub(super) fn ipv6_global(span: &[u8]) -> bool {
    let hex = span.iter().filter(|b| b.is_ascii_hexdigit()).count();
    ipv6(span) && hex >= 4 && span.iter().any(u8::is_ascii_digit)
}

/// An IPv6 address that is more than `::`.
pub(super) fn ipv6(span: &[u8]) -> bool {
    std::str::from_utf8(span).is_ok_and(|s| s.parse::<Ipv6Addr>().is_ok_and(|a| !a.is_unspecified()))
}

/// IEEE 802 MAC-48 / EUI-48, of one interface: not all zeros, not broadcast.
pub(super) fn mac(span: &[u8]) -> bool {
    let mut hex = span.iter().filter(|b| b.is_ascii_hexdigit());
    let n = hex.clone().count();
    let zeros = hex.clone().all(|b| *b == b'0');
    n == 12 && !zeros && !hex.all(|b| b.eq_ignore_ascii_case(&b'f'))
}

/// A mailbox (RFC 5321 §2.3.11) whose parts are well formed and whose last label can be a top-level domain.
pub(super) fn email(span: &[u8]) -> bool {
    let Some(at) = span.iter().rposition(|b| *b == b'@').or_else(|| span.windows(3).rposition(|w| w == b"%40")) else {
        return false;
    };
    let skip = if span[at] == b'@' { 1 } else { 3 };
    let (local, domain) = (&span[..at], &span[at + skip..]);
    let dots_ok =
        |s: &[u8]| !s.is_empty() && !s.starts_with(b".") && !s.ends_with(b".") && !s.windows(2).any(|w| w == b"..");
    if !dots_ok(local) || local.len() > 64 || !dots_ok(domain) || domain.len() > 253 {
        return false;
    }
    let label = |l: &[u8]| l.len() <= 63 && !l.starts_with(b"-") && !l.ends_with(b"-");
    let Some(last) = domain.split(|b| *b == b'.').next_back() else { return false };
    // `pkg@0.1.2.patch`: a version, not a host.
    let version = domain.split(|b| *b == b'.').take(2).all(|l| l.iter().all(u8::is_ascii_digit));
    let top = last.len() > 3 && last[..4].eq_ignore_ascii_case(b"xn--")
        || (2..=24).contains(&last.len()) && last.iter().all(u8::is_ascii_alphabetic);
    let dotted = last.len() < domain.len();
    dotted && top && domain.split(|b| *b == b'.').all(label) && !version && !is_file_extension(last) && !is_role(local)
}

/// `icon@2x.png`, `app@main.js` are files; none of these is a top-level domain.
fn is_file_extension(label: &[u8]) -> bool {
    const EXTENSIONS: &[&[u8]] = &[
        b"png", b"jpg", b"jpeg", b"gif", b"svg", b"webp", b"ico", b"bmp", b"pdf", b"js", b"mjs", b"cjs", b"ts", b"tsx",
        b"jsx", b"css", b"scss", b"less", b"html", b"htm", b"json", b"yaml", b"yml", b"toml", b"xml", b"txt", b"log",
        b"lock", b"tgz", b"gz", b"tar", b"whl", b"jar", b"exe", b"dll", b"patch", b"diff", b"service", b"socket",
        b"target", b"timer", b"mount", b"slice", b"conf", b"cfg", b"ini",
    ];
    EXTENSIONS.iter().any(|e| label.eq_ignore_ascii_case(e))
}

/// Addresses that are part of a machine's protocol and name no person: the login of Git hosts and senders that read no
/// answers.
fn is_role(local: &[u8]) -> bool {
    const ROLES: &[&[u8]] = &[b"git", b"hg", b"svn", b"noreply", b"no-reply", b"donotreply", b"do-not-reply"];
    ROLES.iter().any(|r| local.eq_ignore_ascii_case(r))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        assert!(ipv4_global(b"203.0.113.9") && ipv4_global(b"8.8.8.8"));
        for bad in [
            "10.1.2.3",
            "127.0.0.1",
            "0.0.0.0",
            "192.168.1.1",
            "172.16.0.1",
            "255.255.255.0",
            "120.0.0.0",
            "1.2.3",
            "256.1.1.1",
            "",
        ] {
            assert!(!ipv4_global(bad.as_bytes()), "{bad}");
        }
        assert!(ipv6_global(b"2001:db8::1") && ipv6_global(b"fe80::1") && ipv6_global(b"::ffff:192.0.2.1"));
        for bad in ["::", "::1", "1::2", "dead::beef", "1:2:3:4:5:6:7", "2001::25de::cade", "\u{ff11}"] {
            assert!(!ipv6_global(bad.as_bytes()), "{bad}");
        }
        assert!(ipv6(b"::1") && !ipv6(b"::"));
        assert!(mac(b"00:1A:2b:3c:4d:5e") && !mac(b"00:00:00:00:00:00") && !mac(b"ff-ff-ff-ff-ff-ff"));
    }

    #[test]
    fn mailboxes() {
        for good in [
            "a@b.co",
            "jane.doe+x@mail.example.org",
            "j%40x@example.com",
            "jane%40example.com",
            "a@xn--d1acufc.xn--p1ai",
        ] {
            assert!(email(good.as_bytes()), "{good}");
        }
        for bad in [
            "icon@2x.png",
            "git@github.com",
            "a@.com",
            ".a@b.co",
            "a..b@c.de",
            "a@-b.co",
            "@",
            "",
            "getty@tty1.service",
            "a@0.1.2.dev",
        ] {
            assert!(!email(bad.as_bytes()), "{bad}");
        }
    }
}
