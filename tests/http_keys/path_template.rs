//! Which template a path matches.

use http::{Method, Request, Uri};
use proptest::prelude::*;
use tollgate::http::{KeyExtractor, PathKey, PathTemplate, PathTemplateError};

use crate::config::config;

fn templates() -> PathTemplate {
    PathTemplate::new([
        "/",
        "/search",
        "/users/{id}",
        "/users/me",
        "/users/{id}/posts/{post}",
        "/files/{*path}",
        "/img-{id}.png",
        "/{{x}}",
    ])
    .unwrap()
}

fn key(templates: &PathTemplate, uri: &str) -> Option<PathKey> {
    let uri: Uri = uri.parse().unwrap_or_else(|error| panic!("{uri}: {error}"));
    let mut request = Request::new(());
    *request.uri_mut() = uri;
    templates.extract(&request)
}

#[test]
fn a_path_has_the_key_of_its_template() {
    let templates = templates();
    for (uri, expected) in [
        ("/", 0),
        ("/?q=1", 0),
        ("http://example.com", 0),
        ("/search", 1),
        ("/search?q=/users/1", 1),
        ("http://example.com/search", 1),
        ("/users/1", 2),
        ("/users/2", 2),
        ("/users/search", 2),
        ("/users/%2e%2e", 2),
        ("/users/me", 3),
        ("/users/1/posts/2", 4),
        ("/users/me/posts/2", 4),
        ("/files/a", 5),
        ("/files/a/b//c/", 5),
        ("/img-7.png", 6),
        ("/%7Bx%7D", usize::MAX),
        ("/{x}", 7),
    ] {
        let key = key(&templates, uri);
        let index = key.map(|key| key.index().expect("a template"));
        assert_eq!(index, (expected < 100).then_some(expected), "{uri}");
    }
}

const ELSEWHERE: [&str; 12] = [
    "/about",
    "/search/",
    "//search",
    "/%73earch",
    "/Search",
    "/searc",
    "/searchx",
    "/users",
    "/users/",
    "/files/",
    "/users/1/posts",
    "*",
];

#[test]
fn another_path_has_no_key() {
    for uri in ELSEWHERE {
        assert_eq!(key(&templates(), uri), None, "{uri}");
    }
    assert_eq!(key(&templates(), "example.com:443"), None);
    assert_eq!(key(&PathTemplate::new([""; 0]).unwrap(), "/"), None);
}

#[test]
fn all_other_paths_share_one_key_if_told_to() {
    let templates = templates().or_other();
    let other = key(&templates, "/about").unwrap();
    assert_eq!(other.index(), None);
    assert_eq!(templates.template(other), None);
    for uri in ELSEWHERE {
        assert_eq!(key(&templates, uri), Some(other), "{uri}");
    }
    assert_eq!(key(&templates, "/search").unwrap().index(), Some(1));
    assert_ne!(key(&templates, "/"), Some(other));
}

#[test]
fn part_of_a_segment_can_be_a_parameter() {
    let templates = PathTemplate::new(["/v{version}", "/x{*rest}"]).unwrap();
    assert_eq!(key(&templates, "/v1").unwrap().index(), Some(0));
    assert_eq!(key(&templates, "/v"), None);
    assert_eq!(key(&templates, "/v1/x"), None);
    assert_eq!(key(&templates, "/xy/z").unwrap().index(), Some(1));
    assert_eq!(key(&templates, "/x"), None);
}

#[test]
fn the_method_plays_no_part() {
    let by = |method: Method| {
        let request = Request::builder().method(method).uri("/search").body("");
        templates().extract(&request.unwrap())
    };
    assert_eq!(by(Method::GET), by(Method::POST));
    assert!(by(Method::GET).is_some());
}

#[test]
fn a_key_tells_its_template() {
    let templates = templates();
    let text = |uri: &str| templates.template(key(&templates, uri).unwrap()).unwrap();
    assert_eq!(text("/users/7"), "/users/{id}");
    assert_eq!(text("/{x}"), "/{{x}}");
}

#[test]
fn the_templates_show_in_logs() {
    let templates = PathTemplate::new(["/a", "/{b}"]).unwrap();
    let shown = format!("{templates:?}");
    assert_eq!(
        shown,
        r#"PathTemplate { templates: ["/a", "/{b}"], other: false }"#
    );
}

#[test]
fn a_clone_has_the_same_keys() {
    let templates = templates().or_other();
    for uri in ["/users/7", "/about"] {
        assert_eq!(key(&templates.clone(), uri), key(&templates, uri));
    }
}

#[test]
fn a_wrong_template_is_refused_with_a_reason() {
    let error = |list: &[&str]| {
        let error = PathTemplate::new(list.iter().copied()).expect_err("a wrong template");
        let _: &dyn std::error::Error = &error;
        error.to_string()
    };
    assert_eq!(
        error(&["users"]),
        "'users' is no path template: it must begin with a slash"
    );
    assert_eq!(
        error(&[""]),
        "'' is no path template: it must begin with a slash"
    );
    assert_eq!(
        error(&["/ok", "*\n"]),
        "'*\\n' is no path template: it must begin with a slash"
    );
    for template in ["/search?q={q}", "/a#b"] {
        let expected = format!("'{template}' is no path template: a path has no '?' and no '#'");
        assert_eq!(error(&[template]), expected);
    }
    for template in [
        "/{", "/}", "/{}", "/{a", "/a}", "/{a}{b}", "/{*a}/b", "/{*}",
    ] {
        let expected = format!(
            "'{template}' is no path template: write parameters as {{name}}, at most one in a \
             segment, and {{*rest}} at the end only"
        );
        assert_eq!(error(&[template]), expected);
    }
    let same = error(&["/", "/a/{x}", "/b", "/a/{y}"]);
    assert_eq!(same, "'/a/{y}' conflicts with '/a/{x}'");
    assert_eq!(error(&["/a", "/a"]), "'/a' conflicts with '/a'");
    assert_eq!(
        PathTemplate::new(["/a", "/a"]).unwrap_err(),
        PathTemplateError::Conflict {
            template: "/a".to_owned(),
            with: "/a".to_owned()
        },
    );
}

proptest! {
    #![proptest_config(config(2_000))]

    #[test]
    fn no_list_of_templates_and_no_path_make_it_panic(
        list in prop::collection::vec("(/|\\{|\\}|\\*|[ab-]|\u{fc}|\u{fd}|\\{a\\}|\\{\\*b\\}){0,8}", 0..6),
        path in "/[ab/%{}*-]{0,12}",
    ) {
        let list: Vec<String> = list.into_iter().map(|text| format!("/{text}")).collect();
        match PathTemplate::new(list) {
            Ok(templates) => {
                let found = key(&templates, &path);
                let with_other = key(&templates.or_other(), &path).expect("a key");
                prop_assert!(found.is_none_or(|found| found == with_other));
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn a_client_cannot_make_up_keys_by_paths(paths in prop::collection::vec("/[a-z0-9%./-]{0,20}", 1..50)) {
        let templates = templates().or_other();
        let keys: std::collections::HashSet<_> =
            paths.iter().map(|path| key(&templates, path).unwrap()).collect();
        prop_assert!(keys.len() <= 9);
    }
}
