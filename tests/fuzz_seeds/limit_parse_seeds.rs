//! Limits as people write them, nearly as they write them, and at the ends of what fits.

use crate::Seeds;
use crate::limit_parse::{Form, input};

pub(crate) fn all() -> Seeds {
    let texts = [
        ("plain", "100/min"),
        ("burst", "1000/h burst 50"),
        ("counted-period", "10/10min"),
        ("per", "5 per second"),
        ("bytes", "1GiB/s burst 4MiB"),
        ("separated", "1_000_000/1_000 ms"),
        ("micro-sign", "3/7\u{b5}s"),
        ("greek-mu", "3/7\u{3bc}s"),
        (
            "largest",
            "18446744073709551615/18446744073709551615ns burst 1",
        ),
        ("too-large", "18446744073709551616/s"),
        ("factor-too-large", "18446744073709552k/s"),
        ("period-too-long", "1/213504d"),
        ("no-permits", "0/s"),
        ("no-burst", "1/s burst 0"),
        ("burst-twice", "1/s burst 2 burst 3"),
        ("only-separators", "_/s"),
        ("json", "\"5/s\""),
        ("json-escapes", "\"5\\/\\u0073\""),
        ("algorithm", "sliding_log"),
        ("algorithm-in-capitals", " GCRA "),
        ("no-text", ""),
    ];
    let mut seeds = Seeds::new();
    for (name, text) in texts {
        seeds.insert(name.to_owned(), input(Form::Text, text.as_bytes()));
    }
    // A number is its length in bytes and those bytes, the most significant first.
    let others: [(&str, Form, &[u8]); 7] = [
        ("words", Form::Words, &[6, 52, 15, 57, 25, 3, 32]),
        ("numbers", Form::Numbers, &[1, 5, 2, 3, 232, 1, 9]),
        ("numbers-largest", Form::Numbers, &LARGEST),
        ("numbers-none", Form::Numbers, &[1, 5, 0, 1, 1]),
        (
            "parts",
            Form::Parts,
            &[7, 10, 3, 0b11_1001, 1, 5, 1, 60, 2, 4, 1],
        ),
        (
            "parts-separated-at-the-end",
            Form::Parts,
            &[0, 7, 0, 0b0100_0000, 1, 5],
        ),
        (
            "parts-too-large",
            Form::Parts,
            &[10, 15, 0, 0b01_0000, 4, 1, 0, 0, 0, 3, 3, 66, 1],
        ),
    ];
    for (name, form, bytes) in others {
        seeds.insert(name.to_owned(), input(form, bytes));
    }
    seeds
}

const LARGEST: [u8; 27] = {
    let mut bytes = [0xff; 27];
    bytes[0] = 8;
    bytes[9] = 8;
    bytes[18] = 8;
    bytes
};
