//! What the gateway answers with.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use hyper::body::Incoming;
use pin_project_lite::pin_project;

use crate::Error;
use crate::metrics::InFlight;
use crate::patient::Patient;

pin_project! {
    /// The body of an answer, whose request counts as in flight until it is sent or dropped.
    pub(crate) struct Answer {
        #[pin]
        kind: Kind,
        in_flight: Option<InFlight>,
    }
}

pin_project! {
    #[project = KindProjection]
    enum Kind {
        Text { #[pin] text: Full<Bytes> },
        /// Passed on as it comes, from the upstream.
        Streamed { #[pin] body: Incoming },
        /// The request's own, given back.
        Echoed { #[pin] body: Patient },
        /// So many bytes more.
        Filler { left: u64 },
    }
}

/// What fillers are made of.
static FILLER: [u8; 64 * 1024] = [b'.'; 64 * 1024];

impl Answer {
    pub(crate) fn streamed(body: Incoming) -> Self {
        Kind::Streamed { body }.into()
    }

    pub(crate) fn echoed(body: Patient) -> Self {
        Kind::Echoed { body }.into()
    }

    pub(crate) fn filler(bytes: u64) -> Self {
        Kind::Filler { left: bytes }.into()
    }

    pub(crate) fn counting(mut self, in_flight: InFlight) -> Self {
        self.in_flight = Some(in_flight);
        self
    }
}

impl From<Kind> for Answer {
    fn from(kind: Kind) -> Self {
        Self {
            kind,
            in_flight: None,
        }
    }
}

impl From<String> for Answer {
    fn from(text: String) -> Self {
        Kind::Text { text: text.into() }.into()
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        match self.project().kind.project() {
            KindProjection::Text { text } => text.poll_frame(cx).map_err(|never| match never {}),
            KindProjection::Streamed { body } => body.poll_frame(cx).map_err(Error::from),
            KindProjection::Echoed { body } => body.poll_frame(cx),
            KindProjection::Filler { left: 0 } => Poll::Ready(None),
            KindProjection::Filler { left } => {
                let now = (*left).min(FILLER.len() as u64);
                *left -= now;
                let bytes = Bytes::from_static(&FILLER[..now as usize]);
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Text { text } => text.is_end_stream(),
            Kind::Streamed { body } => body.is_end_stream(),
            Kind::Echoed { body } => body.is_end_stream(),
            Kind::Filler { left } => *left == 0,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Text { text } => text.size_hint(),
            Kind::Streamed { body } => body.size_hint(),
            Kind::Echoed { body } => body.size_hint(),
            Kind::Filler { left } => SizeHint::with_exact(*left),
        }
    }
}
