//! The time stamp of an access log, and how times are shown.
//!
//! A stamp is `dd/Mon/yyyy:HH:MM:SS ±hhmm`, always 26 bytes. Any offset will do; what comes out is
//! nanoseconds since the Unix epoch, which is what a ticker counts.

use chrono::{DateTime, NaiveDate};

pub(crate) const SECOND: u64 = 1_000_000_000;

/// How long a stamp is, in bytes.
pub(crate) const STAMP: usize = 26;

const MONTHS: [&[u8; 3]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];

/// Reads a stamp. `None` if it is none, if there is no such day or hour, or if it lies before 1970
/// or past what nanoseconds in 64 bits can tell, in 2554.
///
/// A leap second counts as the second after it, as Unix time has it.
pub(crate) fn parse_stamp(stamp: &[u8]) -> Option<u64> {
    let stamp: &[u8; STAMP] = stamp.try_into().ok()?;
    let separators = [
        stamp[2], stamp[6], stamp[11], stamp[14], stamp[17], stamp[20],
    ];
    if separators != *b"//::: " {
        return None;
    }
    let month = MONTHS
        .iter()
        .position(|name| name.eq_ignore_ascii_case(&stamp[3..6]))?;
    let date = NaiveDate::from_ymd_opt(
        digits(&stamp[7..11])? as i32,
        month as u32 + 1,
        digits(&stamp[0..2])?,
    )?;
    let minute = date.and_hms_opt(digits(&stamp[12..14])?, digits(&stamp[15..17])?, 0)?;
    let second = digits(&stamp[18..20])?;
    let (hours, minutes) = (digits(&stamp[22..24])?, digits(&stamp[24..26])?);
    if second > 60 || hours > 23 || minutes > 59 {
        return None;
    }
    let east = match stamp[21] {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    } * i64::from(hours * 3600 + minutes * 60);

    let seconds = minute.and_utc().timestamp() + i64::from(second) - east;
    u64::try_from(seconds).ok()?.checked_mul(SECOND)
}

/// A number of at most four digits.
fn digits(text: &[u8]) -> Option<u32> {
    text.iter().try_fold(0, |number, byte| {
        byte.is_ascii_digit()
            .then(|| number * 10 + u32::from(byte - b'0'))
    })
}

/// A time as people write it, in UTC: `2025-01-29 16:51:12`.
pub fn show_time(time_ns: u64) -> String {
    let seconds = (time_ns / SECOND) as i64;
    let time = DateTime::from_timestamp(seconds, 0).expect("2554 is in the calendar");
    time.format("%Y-%m-%d %H:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(stamp: &str) -> Option<u64> {
        parse_stamp(stamp.as_bytes()).map(|ns| ns / SECOND)
    }

    #[test]
    fn every_offset_names_the_same_instant() {
        assert_eq!(seconds("21/Apr/2004:10:56:07 -0400"), Some(1_082_559_367));
        assert_eq!(seconds("21/Apr/2004:14:56:07 +0000"), Some(1_082_559_367));
        assert_eq!(seconds("21/Apr/2004:18:26:07 +0330"), Some(1_082_559_367));
        assert_eq!(seconds("22/Apr/2004:01:56:07 +1100"), Some(1_082_559_367));
        assert_eq!(seconds("21/APR/2004:10:56:07 -0400"), Some(1_082_559_367));
    }

    #[test]
    fn a_day_that_never_was_is_refused() {
        assert!(seconds("29/Feb/2024:00:00:00 +0000").is_some());
        for stamp in [
            "29/Feb/2023:00:00:00 +0000",
            "31/Apr/2023:00:00:00 +0000",
            "00/Apr/2023:00:00:00 +0000",
            "01/Apx/2023:00:00:00 +0000",
            "01/Apr/2023:24:00:00 +0000",
            "01/Apr/2023:00:60:00 +0000",
            "01/Apr/2023:00:00:61 +0000",
            "01/Apr/2023:00:00:00 +2400",
            "01/Apr/2023:00:00:00 +0060",
            "01/Apr/2023:00:00:00  0000",
            "01/Apr/2023T00:00:00 +0000",
            "1/Apr/2023:00:00:00 +00000",
            "-1/Apr/2023:00:00:00 +0000",
            "01/Apr/2023:00:00:00 +000",
            "",
        ] {
            assert_eq!(seconds(stamp), None, "{stamp}");
        }
    }

    #[test]
    fn times_that_a_ticker_cannot_show_are_refused() {
        assert_eq!(seconds("01/Jan/1970:00:00:00 +0000"), Some(0));
        assert_eq!(seconds("01/Jan/1970:00:00:00 +0100"), None);
        assert_eq!(seconds("31/Dec/1969:23:00:00 -0100"), Some(0));
        assert_eq!(
            seconds("21/Jul/2554:23:34:33 +0000"),
            Some(u64::MAX / SECOND)
        );
        assert_eq!(seconds("21/Jul/2554:23:34:34 +0000"), None);
        assert_eq!(seconds("31/Dec/9999:23:59:59 -2359"), None);
        assert_eq!(seconds("01/Jan/0000:00:00:00 +0000"), None);
    }

    #[test]
    fn a_leap_second_is_the_second_after_it() {
        assert_eq!(
            seconds("31/Dec/2016:23:59:60 +0000"),
            seconds("01/Jan/2017:00:00:00 +0000")
        );
    }

    #[test]
    fn a_time_is_shown_in_utc() {
        assert_eq!(show_time(1_082_559_367 * SECOND), "2004-04-21 14:56:07");
        assert_eq!(show_time(u64::MAX), "2554-07-21 23:34:33");
    }
}
