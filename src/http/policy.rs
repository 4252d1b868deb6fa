//! Names of limits, as headers carry them.

use crate::decision::Decision;
use crate::limit::Limit;
use std::fmt;

/// The name of a limit, in the headers that tell of it: `burst`, `daily`.
///
/// Any printable ASCII, which is what a String of structured fields (RFC 9651) can hold.
///
/// # Examples
///
/// ```
/// use tollgate::http::PolicyName;
///
/// let name = PolicyName::new("burst")?;
/// assert_eq!(name.to_string(), "burst");
/// assert!(PolicyName::new("täglich").is_err());
/// # Ok::<(), tollgate::http::PolicyNameError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct PolicyName {
    name: Box<str>,
    /// The same in quotes, with a backslash before each quote and backslash: as structured fields
    /// and JSON alike have it.
    quoted: Box<str>,
}

impl PolicyName {
    /// A name, if headers can carry it.
    ///
    /// # Errors
    ///
    /// If it is empty, or has a character that is not printable ASCII.
    pub fn new(name: impl Into<String>) -> Result<Self, PolicyNameError> {
        let name = name.into();
        if name.is_empty() {
            return Err(PolicyNameError::Empty);
        }
        if let Some((at, character)) = name
            .char_indices()
            .find(|(_, character)| !matches!(character, ' '..='~'))
        {
            return Err(PolicyNameError::NotPrintable {
                name,
                at,
                character,
            });
        }
        let mut quoted = String::with_capacity(name.len() + 2);
        quoted.push('"');
        for character in name.chars() {
            if matches!(character, '"' | '\\') {
                quoted.push('\\');
            }
            quoted.push(character);
        }
        quoted.push('"');
        Ok(Self {
            name: name.into(),
            quoted: quoted.into(),
        })
    }

    /// The name of a limit that was given none, by its place in the list.
    pub(super) fn numbered(place: usize) -> Self {
        Self::new(format!("limit-{}", place + 1)).expect("letters and digits")
    }

    /// The name itself.
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// As structured fields and JSON have it, quotes included.
    pub(super) fn quoted(&self) -> &str {
        &self.quoted
    }
}

impl Default for PolicyName {
    /// `default`: what a single limit is called that was given no name.
    fn default() -> Self {
        Self::new("default").expect("letters")
    }
}

impl fmt::Display for PolicyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl fmt::Debug for PolicyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)
    }
}

/// Why headers cannot carry a name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PolicyNameError {
    /// It is empty.
    Empty,
    /// It has a character that is not printable ASCII.
    NotPrintable {
        /// The name.
        name: String,
        /// Which byte of it the character begins at, counted from 0.
        at: usize,
        /// The character.
        character: char,
    },
}

impl fmt::Display for PolicyNameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("a policy name is empty"),
            Self::NotPrintable {
                name,
                at,
                character,
            } => write!(
                f,
                "the policy name {name:?} has {character:?} at byte {at}, which is not printable ASCII"
            ),
        }
    }
}

impl std::error::Error for PolicyNameError {}

/// What one limit says of a request.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// What the limit is called.
    pub name: &'a PolicyName,
    /// The limit itself.
    pub limit: Limit,
    /// Its own decision, whatever the others say.
    pub decision: Decision,
}
