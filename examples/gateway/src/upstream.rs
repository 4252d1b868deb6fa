//! What answers when there is no upstream: something to try limits with.

use http::{Request, Response, StatusCode};

use crate::body::Answer;
use crate::patient::Patient;

/// `/echo` gives the body back as it comes, `/bytes/N` so many bytes, anything else a line of text.
pub(crate) fn answer(request: Request<Patient>) -> Response<Answer> {
    let path = request.uri().path();
    if path == "/echo" {
        return Response::new(Answer::echoed(request.into_body()));
    }
    if let Some(bytes) = path.strip_prefix("/bytes/") {
        return match bytes.parse() {
            Ok(bytes) => Response::new(Answer::filler(bytes)),
            Err(_) => text(StatusCode::BAD_REQUEST, "write /bytes/N\n".to_owned()),
        };
    }
    let line = format!("{} {path}\n", request.method());
    text(StatusCode::OK, line)
}

pub(crate) fn text(status: StatusCode, text: String) -> Response<Answer> {
    let mut response = Response::new(Answer::from(text));
    *response.status_mut() = status;
    let plain = http::HeaderValue::from_static("text/plain; charset=utf-8");
    response
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, plain);
    response
}
