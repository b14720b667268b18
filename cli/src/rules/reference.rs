//! The text that rules are measured on: made up here, the same for everybody and every time.
//!
//! Four kinds in equal parts, since a literal that is rare in one is common in another: source code, logs as JSON,
//! English prose, Chinese prose. It is *not* a corpus: its words are few and its sentences say nothing, so a count in it
//! is an order of size. It holds nothing that a rule should find.

use crate::split_mix::SplitMix;

/// Length in bytes; pieces end with their line, so it is a little more.
const LENGTH: usize = 1_000_000;

/// What it is, for people.
pub(super) const WHAT: &str =
    "1 MB made up of source code, JSON logs, English and Chinese prose in equal parts, the same in every run";

/// The whole text.
pub(super) fn text() -> Vec<u8> {
    let mut out = String::with_capacity(LENGTH + (4 << 10));
    let mut random = SplitMix(1);
    for (quarter, line) in (1..).zip([source, log, prose, chinese]) {
        while out.len() < LENGTH / 4 * quarter {
            line(&mut out, &mut random);
        }
    }
    out.into_bytes()
}

type Words = [&'static str];

const NAMES: &Words = &[
    "user",
    "order",
    "account",
    "config",
    "request",
    "response",
    "token",
    "session",
    "client",
    "server",
    "buffer",
    "index",
    "count",
    "value",
    "key",
    "name",
    "path",
    "file",
    "line",
    "state",
    "error",
    "result",
    "message",
    "handler",
    "service",
    "event",
    "queue",
    "cache",
    "record",
    "field",
    "table",
    "column",
    "id",
    "url",
    "host",
    "port",
    "api",
    "secret",
    "access",
    "password",
    "password_hash",
    "is_valid",
    "max_len",
    "retries",
    "timeout",
    "callback",
    "listener",
    "payload",
    "header",
];
const VERBS: &Words = &[
    "get", "set", "load", "store", "parse", "write", "read", "open", "close", "update", "remove", "find", "check",
    "build", "send", "receive", "start", "stop", "merge", "split", "encode", "decode",
];
const PROSE: &Words = &[
    "the",
    "of",
    "and",
    "to",
    "in",
    "a",
    "is",
    "that",
    "for",
    "it",
    "was",
    "with",
    "as",
    "on",
    "by",
    "this",
    "are",
    "from",
    "water",
    "morning",
    "people",
    "house",
    "nothing",
    "reason",
    "little",
    "between",
    "question",
    "another",
    "thought",
    "moment",
    "letter",
    "answer",
    "evening",
    "country",
    "history",
    "weather",
    "however",
    "because",
    "already",
    "together",
    "account",
    "number",
    "service",
    "please",
    "contact",
    "address",
    "street",
    "password",
    "instructions",
    "previous",
];
const CHINESE: &Words = &[
    "我们", "系统", "服务", "用户", "订单", "地址", "电话", "密码", "今天", "天气", "城市", "学生", "问题", "方法",
    "时间", "数据", "文件", "如果", "因为", "所以", "可以", "需要", "已经", "没有", "一个", "这个", "其他", "字段",
    "省略", "内容", "的", "了", "在", "是", "和", "就", "不", "人", "都", "也", "很", "到", "说", "要",
];

/// Frequent characters.
const COMMON: &str = "的一是不了在人有我他这中大来上个国到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可里后小么心\
多天而能好都然没日于起还发成事只作当想看文无开手十用主行方又如前所本见经头面公同三已老从动两长知民样现分将外但身些与高意\
进把法此实回二理美点月明其种声全工己话儿者向情部正名定女问力机给等几很业最间新什打便位因重被走电四第门相次东政海口使教\
西再平真听世气信北少关并内加化由却代军产入先山五太水万市眼体别处总才场师书比住员九笑性通目华报立马命张活难神数件安表原\
车白应路期叫死常提感金何更反合放做系计或司利受光王果亲界及今京务制解各任至清物台象记边共风战干接它许八特觉望直服毛林题";

fn one(words: &'static Words, random: &mut SplitMix) -> &'static str {
    words[below(random, words.len())]
}

fn below(random: &mut SplitMix, n: usize) -> usize {
    (random.next() % n as u64) as usize
}

fn source(out: &mut String, random: &mut SplitMix) {
    let (a, b, c) = (one(NAMES, random), one(NAMES, random), one(NAMES, random));
    let (verb, n) = (one(VERBS, random), below(random, 4096));
    let indent = "    ".repeat(below(random, 4));
    out.push_str(&indent);
    out.push_str(&match below(random, 9) {
        0 => format!("fn {verb}_{a}(&mut self, {b}: &str) -> Result<{c}, Error> {{\n"),
        1 => format!("let {a}_{b} = self.{c}.{verb}({a}, {n})?;\n"),
        2 => format!("if {a}.{b} == {n} && !{c}.is_empty() {{\n"),
        3 => format!("// {verb} the {a} of the {b} before the {c}\n"),
        4 => format!("{a}['{b}'] = os.environ.get(\"{}\", {n})\n", c.to_ascii_uppercase()),
        5 => format!("import {{ {verb}, {a} }} from './{b}/{c}';\n"),
        6 => format!("return {a}.map(({b}) => {b}.{c}).filter(x => x > 0x{n:04x});\n"),
        7 => format!("SELECT {a}, {b} FROM {c}s WHERE id = {n} ORDER BY {a} DESC;\n"),
        _ => "}\n\n".to_owned(),
    });
}

fn log(out: &mut String, random: &mut SplitMix) {
    let (a, b, verb) = (one(NAMES, random), one(NAMES, random), one(VERBS, random));
    let (n, ms, hash) = (below(random, 100_000), below(random, 900), random.next());
    let (hour, minute, second) = (below(random, 24), below(random, 60), below(random, 60));
    out.push_str(&format!(
        "{{\"time\":\"2025-03-14T{hour:02}:{minute:02}:{second:02}.{ms:03}Z\",\"level\":\"info\",\"msg\":\"{verb} {a} \
         done\",\"{b}\":{n},\"took_ms\":{ms},\"trace\":\"{hash:016x}\",\"path\":\"/v1/{a}s/{n}/{b}\"}}\n"
    ));
}

fn prose(out: &mut String, random: &mut SplitMix) {
    for i in 0..8 + below(random, 10) {
        let word = one(PROSE, random);
        let comma = if i % 6 == 5 { "," } else { "" };
        match i {
            0 => out.extend(word[..1].to_ascii_uppercase().chars().chain(word[1..].chars())),
            _ => out.push_str(&format!(" {word}{comma}")),
        }
    }
    out.push_str(if below(random, 6) == 0 { ".\n\n" } else { ". " });
}

fn chinese(out: &mut String, random: &mut SplitMix) {
    for _ in 0..6 + below(random, 14) {
        match below(random, 3) {
            0 => out.push_str(one(CHINESE, random)),
            _ => out.extend(COMMON.chars().nth(below(random, COMMON.chars().count()))),
        }
        if below(random, 7) == 0 {
            out.push('，');
        }
    }
    out.push_str(if below(random, 5) == 0 { "。\n" } else { "。" });
}
