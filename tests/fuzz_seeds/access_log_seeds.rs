//! Logs as servers write them, and what gets into them.

use tollgate_replay::KeyKind;
use tollgate_replay::access_log::Layout;

use crate::Seeds;
use crate::access_log::{Form, input};

const COMMON: &str =
    "203.0.113.5 - ada [05/Mar/2021:09:01:38 +0100] \"GET /a?b HTTP/1.1\" 200 15\n";
const COMBINED: &str = "2001:db8:1:2:3:4:5:6 - - [05/Mar/2021:09:01:37 +0100] \
                        \"POST / HTTP/1.1\" 404 - \"http://h.example/\" \"curl/8\"\r\n";

pub(crate) fn all() -> Seeds {
    let mut seeds = Seeds::new();
    let mut add = |name: &str, form, kind, layout, text: &[u8]| {
        seeds.insert(name.to_owned(), input(form, kind, layout, text));
    };
    let both = [COMMON, COMBINED, COMMON].concat();
    let both = both.as_bytes();

    for (name, kind) in [
        ("by-client", KeyKind::Client),
        ("by-prefix", KeyKind::Prefix64),
        ("by-path", KeyKind::Path),
        ("by-user", KeyKind::User),
    ] {
        add(name, Form::Text, kind, Layout::Plain, both);
    }
    let texts: [(&str, &[u8]); 11] = [
        ("empty", b""),
        ("only-a-line-feed", b"\n"),
        ("empty-lines", b"\n\r\n \n\t"),
        ("cut", &COMMON.as_bytes()[..61]),
        (
            "mapped-address",
            b"::ffff:192.0.2.1 - - [05/Mar/2021:09:01:38 +0100] \"GET / HTTP/1.0\" 200 1",
        ),
        (
            "names-with-brackets",
            b"h.example - [x] y [05/Mar/2021:09:01:38 +0100] \"GET / HTTP/1.0\" 200 1",
        ),
        (
            "quotes-in-the-request",
            b"h.example - - [05/Mar/2021:09:01:38 +0100] \"G\" /\\\" 500 1 \\\\\" 200 12 \"-\"",
        ),
        (
            "no-text",
            b"h.example - \xff\xfe [05/Mar/2021:09:01:38 +0100] \"SEARCH /\x90\x02\xb1\" 414 -",
        ),
        (
            "first-second",
            b"a - - [01/Jan/1970:00:00:00 +0000] \"\" 200 0\na - - [01/Jan/1970:00:00:00 +0001] \"\" 200 0",
        ),
        (
            "last-second",
            b"a - - [21/Jul/2554:23:34:33 +0000] \"-\" 200 18446744073709551615",
        ),
        (
            "six-rejected",
            b"a\nb - \nc - - [\nd - - [05/Mar/2021:09:01:38 +0100]\n\0 - - \n[\n",
        ),
    ];
    for (name, text) in texts {
        add(name, Form::Text, KeyKind::Client, Layout::Plain, text);
    }
    let hosts = format!("www.example.com:443 {COMMON}www.example.com {COMBINED}{COMMON}");
    for (name, layout) in [
        ("virtual-host", Layout::VirtualHost),
        ("virtual-host-unexpected", Layout::Plain),
    ] {
        add(name, Form::Text, KeyKind::Path, layout, hosts.as_bytes());
    }

    let (client, plain) = (KeyKind::Client, Layout::Plain);
    add(
        "words",
        Form::Words,
        client,
        plain,
        &[57, 58, 0, 13, 18, 26, 32, 34, 37, 38, 47, 59],
    );
    let halves = [&[128], both].concat();
    add("two-members", Form::Gzip, client, plain, &halves);
    add(
        "half-a-gzip-file",
        Form::Text,
        client,
        plain,
        b"\x1f\x8b\x08\0\0\0\0\0",
    );
    let damaged = [&[0, 30, 1, 0], both].concat();
    add("damaged-gzip", Form::DamagedGzip, client, plain, &damaged);
    add(
        "gzip-cut-to-nothing",
        Form::DamagedGzip,
        client,
        plain,
        &[0, 0, 0, 31],
    );
    let cut = [&[0, 0, 0, 9], both].concat();
    add("cut-gzip", Form::DamagedGzip, client, plain, &cut);
    for (name, more) in [
        ("longest-line", 0),
        ("too-long-a-line", 1),
        ("endless-line", 2),
    ] {
        let text = [&[more], both].concat();
        add(name, Form::LongLine, client, plain, &text);
    }
    let text = [&[0], COMMON.trim_end().as_bytes()].concat();
    add(
        "longest-line-at-the-end",
        Form::LongLine,
        client,
        plain,
        &text,
    );
    seeds
}
