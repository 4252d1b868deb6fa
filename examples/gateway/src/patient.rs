//! Bodies of requests that may not pause for ever.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Sleep, sleep};

use crate::Error;

/// A body that ends with an error if nothing comes of it for too long.
pub(crate) struct Patient {
    body: Incoming,
    /// While nothing comes. (In a box since bodies that are sent have to be `Unpin`.)
    pause: Option<Pin<Box<Sleep>>>,
    longest: Duration,
}

impl Patient {
    pub(crate) fn new(body: Incoming, longest: Duration) -> Self {
        Self {
            body,
            pause: None,
            longest,
        }
    }
}

impl Body for Patient {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = &mut *self;
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(cx) {
            this.pause = None;
            return Poll::Ready(frame.map(|frame| frame.map_err(Error::from)));
        }
        let longest = this.longest;
        let pause = this.pause.get_or_insert_with(|| Box::pin(sleep(longest)));
        ready!(pause.as_mut().poll(cx));
        let error = format!("nothing came of the body for {longest:?}");
        Poll::Ready(Some(Err(error.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
