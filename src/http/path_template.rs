//! Which of several templates a request's path matches, as its key.

use std::fmt;
use std::sync::Arc;

use http::Request;
use matchit::{InsertError, Router};

use super::KeyExtractor;

/// Counts a request against the template that its path matches: `/users/1` and `/users/2` are both
/// `/users/{id}`.
///
/// By the path itself a client would have a key for every number he can think of. By templates
/// there are as many keys as templates, and one if [all others](Self::or_other) share it.
///
/// A parameter `{name}` is one segment, or part of it (`/img-{id}.png`); `{*name}` at the end is all
/// the rest. Braces are doubled where they are meant. Fixed segments are preferred to parameters.
///
/// # Security
///
/// The path is matched as it was sent, and the method plays no part. `/%73earch`, `//search` and
/// `/search/` are not `/search`, though the server behind may take them for it. Without a key for
/// all others such a request has none: let it have one, or refuse requests that have none.
///
/// # Examples
///
/// ```
/// use http::Request;
/// use tollgate::http::{KeyExtractor, PathTemplate};
///
/// let key = PathTemplate::new(["/users/{id}", "/files/{*path}"])?;
/// let of = |key: &PathTemplate, path: &str| key.extract(&Request::get(path).body(()).unwrap());
///
/// assert_eq!(of(&key, "/users/1?page=2").unwrap().index(), Some(0));
/// assert_eq!(of(&key, "/users/1"), of(&key, "/users/2"));
/// assert_eq!(of(&key, "/files/a/b/c").unwrap().index(), Some(1));
/// assert_eq!(of(&key, "/about"), None);
///
/// let key = key.or_other();
/// assert_eq!(of(&key, "/about").unwrap().index(), None);
/// assert_eq!(of(&key, "/about"), of(&key, "//users/1"));
/// # Ok::<(), tollgate::http::PathTemplateError>(())
/// ```
#[derive(Clone, Debug)]
pub struct PathTemplate {
    /// Shared, since services are cloned for each connection.
    templates: Arc<Templates>,
    other: bool,
}

struct Templates {
    router: Router<PathKey>,
    texts: Vec<String>,
}

impl fmt::Debug for Templates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.texts.fmt(f)
    }
}

impl PathTemplate {
    /// Tells these templates apart. A path that matches none of them is no key.
    ///
    /// # Errors
    ///
    /// If a template does not begin with a slash, has a `?` or `#` in it, is written wrongly, or
    /// matches paths that an earlier one matches too and neither is the more exact (`/{*rest}` and
    /// `/{name}/edit`).
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::http::PathTemplate;
    ///
    /// let error = PathTemplate::new(["/users/{id}", "/users/{name}"]).unwrap_err();
    /// assert_eq!(error.to_string(), "'/users/{name}' conflicts with '/users/{id}'");
    /// ```
    pub fn new<T: Into<String>>(
        templates: impl IntoIterator<Item = T>,
    ) -> Result<Self, PathTemplateError> {
        let mut router = Router::new();
        let mut texts = Vec::new();
        for template in templates {
            let template = template.into();
            if !template.starts_with('/') {
                return Err(PathTemplateError::NoSlash { template });
            }
            if template.contains(['?', '#']) {
                return Err(PathTemplateError::NotOnlyPath { template });
            }
            if let Err(error) = router.insert(template.as_str(), PathKey(texts.len())) {
                return Err(match error {
                    InsertError::Conflict { with } => {
                        PathTemplateError::Conflict { template, with }
                    }
                    _ => PathTemplateError::Parameter { template },
                });
            }
            texts.push(template);
        }
        Ok(Self {
            templates: Arc::new(Templates { router, texts }),
            other: false,
        })
    }

    /// All paths that match no template are one key.
    pub fn or_other(mut self) -> Self {
        self.other = true;
        self
    }

    /// The template behind a key, `None` if it stands for all others.
    pub fn template(&self, key: PathKey) -> Option<&str> {
        self.templates.texts.get(key.0).map(String::as_str)
    }
}

impl<B> KeyExtractor<B> for PathTemplate {
    type Key = PathKey;

    fn extract(&self, request: &Request<B>) -> Option<PathKey> {
        match self.templates.router.at(request.uri().path()) {
            Ok(found) => Some(*found.value),
            Err(_) => self.other.then_some(OTHER),
        }
    }
}

/// Which template a path matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathKey(usize);

/// No list has so many templates.
const OTHER: PathKey = PathKey(usize::MAX);

impl PathKey {
    /// The template's place in the list, counted from 0, `None` if the key stands for all others.
    pub fn index(&self) -> Option<usize> {
        (*self != OTHER).then_some(self.0)
    }
}

/// A list of templates of which one is wrong.
///
/// # Examples
///
/// ```
/// use tollgate::http::PathTemplate;
///
/// let error = PathTemplate::new(["/users/{id"]).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "'/users/{id' is no path template: write parameters as {name}, at most one in a segment, \
///      and {*rest} at the end only",
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathTemplateError {
    /// The template does not begin with a slash, so that no path would match it.
    NoSlash {
        /// The template.
        template: String,
    },
    /// The template has a query or a fragment, which are not parts of a path.
    NotOnlyPath {
        /// The template.
        template: String,
    },
    /// A parameter of the template is written wrongly.
    Parameter {
        /// The template.
        template: String,
    },
    /// The template and an earlier one match some of the same paths, neither more exactly.
    Conflict {
        /// The template.
        template: String,
        /// The earlier one.
        with: String,
    },
}

impl fmt::Display for PathTemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSlash { template } => write!(
                f,
                "'{}' is no path template: it must begin with a slash",
                template.escape_debug()
            ),
            Self::NotOnlyPath { template } => write!(
                f,
                "'{}' is no path template: a path has no '?' and no '#'",
                template.escape_debug()
            ),
            Self::Parameter { template } => write!(
                f,
                "'{}' is no path template: write parameters as {{name}}, at most one in a \
                 segment, and {{*rest}} at the end only",
                template.escape_debug()
            ),
            Self::Conflict { template, with } => write!(
                f,
                "'{}' conflicts with '{}'",
                template.escape_debug(),
                with.escape_debug()
            ),
        }
    }
}

impl std::error::Error for PathTemplateError {}
