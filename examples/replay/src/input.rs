//! Where lines come from: files, plain or compressed, and standard input.
//!
//! Whether something is gzip is told by its first two bytes, not by its name, so that
//! `cat access.log*.gz | replay -` works. A line is never held whole if it is longer than
//! [`LONGEST`], so a file without line ends takes no more memory than one with them.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;

use flate2::bufread::MultiGzDecoder;

use crate::access_log::Reject;
use crate::log::LogBuilder;

/// The longest line that is read: servers cut a request, a referrer and an agent at 8 KiB each,
/// and escapes make that four times as long.
pub const LONGEST: usize = 256 << 10;

const BUFFER: usize = 64 << 10;

/// Where lines come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Standard input, which people call `-`.
    Stdin,
    /// A file.
    File(PathBuf),
}

impl Source {
    /// The source that people mean by `argument`.
    pub fn from_argument(argument: PathBuf) -> Self {
        if argument.as_os_str() == "-" {
            Self::Stdin
        } else {
            Self::File(argument)
        }
    }

    /// What it is called without the folders that it is in.
    pub fn base_name(&self) -> String {
        match self {
            Self::Stdin => "-".to_owned(),
            Self::File(path) => match path.file_name() {
                Some(name) => name.to_string_lossy().into_owned(),
                None => self.to_string(),
            },
        }
    }

    /// How many bytes there are to read, where that can be told.
    pub fn size(&self) -> Option<u64> {
        match self {
            Self::Stdin => None,
            Self::File(path) => path.metadata().ok().map(|file| file.len()),
        }
    }

    /// Reads all lines into `builder`. `tick` is told, from time to time, how many more bytes have
    /// been read.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or is compressed and damaged: which source, and why.
    pub fn read(
        &self,
        builder: &mut LogBuilder,
        tick: &mut dyn FnMut(u64),
    ) -> Result<(), InputError> {
        builder.begin_source(&self.base_name());
        let read = match self {
            Self::Stdin => read_all(io::stdin().lock(), builder, tick),
            Self::File(path) => File::open(path).and_then(|file| read_all(file, builder, tick)),
        };
        read.map_err(|why| InputError {
            source: self.to_string(),
            why,
        })
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdin => f.write_str("standard input"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

/// Something that could not be read.
#[derive(Debug)]
pub struct InputError {
    source: String,
    why: io::Error,
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot read {}: {}", self.source, self.why)
    }
}

impl std::error::Error for InputError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.why)
    }
}

/// Reads all lines of `input`, compressed or not.
///
/// # Errors
///
/// If reading fails, or what is compressed is damaged.
pub fn read_all(
    input: impl Read,
    builder: &mut LogBuilder,
    tick: &mut dyn FnMut(u64),
) -> io::Result<()> {
    let mut input = Counted { input, tick };
    let mut start = Vec::with_capacity(2);
    input.by_ref().take(2).read_to_end(&mut start)?;
    let compressed = start == [0x1f, 0x8b];
    let input = BufReader::with_capacity(BUFFER, start.chain(input));

    if compressed {
        let input = MultiGzDecoder::new(input);
        read_lines(BufReader::with_capacity(BUFFER, input), builder)
    } else {
        read_lines(input, builder)
    }
}

fn read_lines(mut input: impl BufRead, builder: &mut LogBuilder) -> io::Result<()> {
    let mut line = Vec::new();
    while let Some(whole) = next_line(&mut input, &mut line)? {
        if whole {
            builder.push_line(&line);
        } else {
            builder.reject(Reject::TooLong);
        }
    }
    Ok(())
}

/// Puts the next line into `line`, without its line feed, and tells whether it fitted in; `None`
/// at the end.
fn next_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Option<bool>> {
    line.clear();
    let read = input
        .by_ref()
        .take(LONGEST as u64 + 1)
        .read_until(b'\n', line)?;
    if line.pop_if(|last| *last == b'\n').is_some() {
        return Ok(Some(true));
    }
    if line.len() <= LONGEST {
        return Ok((read > 0).then_some(true));
    }
    input.skip_until(b'\n')?;
    Ok(Some(false))
}

/// A reader that tells how much has been read.
struct Counted<'a, R> {
    input: R,
    tick: &'a mut dyn FnMut(u64),
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        (self.tick)(count as u64);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;
    use crate::access_log::Layout;
    use crate::key::KeyKind;
    use crate::log::Log;

    const LINE: &str = "203.0.113.5 - - [05/Mar/2021:09:01:38 +0100] \"GET / HTTP/1.0\" 200 15";

    fn read(input: impl Read) -> io::Result<Log> {
        let mut builder = LogBuilder::new(KeyKind::Client, Layout::Plain);
        read_all(input, &mut builder, &mut |_| {})?;
        Ok(builder.finish())
    }

    fn gzip(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn the_last_line_needs_no_line_feed_and_no_line_follows_the_last_feed() {
        for (text, lines, rejected) in [
            (String::new(), 0, 0),
            (LINE.to_owned(), 1, 0),
            (format!("{LINE}\n"), 1, 0),
            (format!("{LINE}\r\n{LINE}"), 2, 0),
            (format!("{LINE}\n\n"), 1, 1),
            ("\n".to_owned(), 0, 1),
            ("x".to_owned(), 0, 1),
        ] {
            let log = read(text.as_bytes()).unwrap();
            assert_eq!(log.requests().len(), lines, "{text:?}");
            assert_eq!(log.rejected(), rejected, "{text:?}");
        }
    }

    #[test]
    fn every_member_of_a_gzip_file_is_read() {
        let half = LINE.len() / 2;
        let mut file = gzip(&format!("{LINE}\n{}", &LINE[..half]));
        file.extend(gzip(&format!("{}\n", &LINE[half..])));
        file.extend(gzip(""));
        file.extend(gzip(LINE));
        let log = read(&file[..]).unwrap();
        assert_eq!(log.requests().len(), 3);
        assert_eq!(log.rejected(), 0);
    }

    #[test]
    fn a_damaged_gzip_file_is_an_error_and_no_panic() {
        let file = gzip(&format!("{LINE}\n").repeat(100));
        assert!(read(&file[..file.len() - 9]).is_err());
        assert!(read(&file[..2]).is_err());
        assert!(read(&file[..1]).is_ok_and(|log| log.rejected() == 1));
    }

    #[test]
    fn gzip_is_known_by_its_first_bytes_however_they_arrive() {
        struct OneByte<R>(R);
        impl<R: Read> Read for OneByte<R> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let end = buffer.len().min(1);
                self.0.read(&mut buffer[..end])
            }
        }
        let file = gzip(&format!("{LINE}\n{LINE}\n"));
        assert_eq!(read(OneByte(&file[..])).unwrap().requests().len(), 2);
    }

    #[test]
    fn a_line_that_is_too_long_is_rejected_and_the_next_one_read() {
        let padded = |length: usize| {
            let mut line = format!("{LINE} \"-\" \"");
            line.extend(std::iter::repeat_n('x', length - line.len()));
            line
        };
        let (fits, does_not) = (padded(LONGEST), padded(LONGEST + 1));
        let text = format!("{fits}\n{does_not}\n{does_not}x\n{LINE}\n{does_not}");
        let log = read(text.as_bytes()).unwrap();
        assert_eq!(log.requests().len(), 2);
        let rejected: Vec<_> = log
            .first_rejected()
            .iter()
            .map(|line| (line.line, line.reason))
            .collect();
        assert_eq!(
            rejected,
            [2, 3, 5].map(|line| (line, Reject::TooLong)),
            "and the fourth is a line like any other"
        );
    }

    #[test]
    fn every_byte_read_is_told() {
        let file = gzip(&format!("{LINE}\n").repeat(5000));
        let mut told = 0;
        let mut builder = LogBuilder::new(KeyKind::Client, Layout::Plain);
        read_all(&file[..], &mut builder, &mut |bytes| told += bytes).unwrap();
        assert_eq!(told, file.len() as u64);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let source = Source::from_argument("no-such-folder/access.log".into());
        let mut builder = LogBuilder::new(KeyKind::Client, Layout::Plain);
        let error = source.read(&mut builder, &mut |_| {}).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("cannot read no-such-folder/access.log: "),
            "{error}"
        );
        let folder = Source::from_argument(".".into());
        assert!(folder.read(&mut builder, &mut |_| {}).is_err());
    }

    #[test]
    fn a_dash_is_standard_input() {
        assert_eq!(Source::from_argument("-".into()), Source::Stdin);
        let file = Source::from_argument("logs/access.log.1.gz".into());
        assert_eq!(file.base_name(), "access.log.1.gz");
        assert_eq!(file.to_string(), "logs/access.log.1.gz");
    }
}
