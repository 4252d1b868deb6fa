//! The answer of a limited service, when it comes.

use super::note::Marks;
use super::rule::Limited;
use http::Response;
use pin_project_lite::pin_project;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// The answer of a [`RateLimit`](super::RateLimit) service: the inner one's, with headers, or the
    /// refusal.
    ///
    /// If it is dropped, so is the inner service's future. The permits of a request that was let
    /// through stay spent: the inner service has seen it.
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<I, B, L>
    where
        L: Limited,
    {
        #[pin]
        state: State<I, B, L>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<I, B, L>
    where
        L: Limited,
    {
        Inner {
            #[pin]
            future: I,
            marks: Marks<L>,
        },
        Refused {
            // Taken when it is given out.
            response: Option<Response<B>>,
        },
    }
}

impl<I, B, L: Limited> ResponseFuture<I, B, L> {
    pub(super) fn inner(future: I, marks: Marks<L>) -> Self {
        Self {
            state: State::Inner { future, marks },
        }
    }

    pub(super) fn refused(response: Response<B>) -> Self {
        Self {
            state: State::Refused {
                response: Some(response),
            },
        }
    }
}

impl<I, B, E, L> Future for ResponseFuture<I, B, L>
where
    I: Future<Output = Result<Response<B>, E>>,
    L: Limited,
{
    type Output = Result<Response<B>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProjection::Inner { future, marks } => {
                let mut answer = ready!(future.poll(cx));
                if let Ok(response) = &mut answer {
                    marks.write(response.headers_mut());
                }
                Poll::Ready(answer)
            }
            StateProjection::Refused { response } => {
                let response = response.take().expect("polled after it was ready");
                Poll::Ready(Ok(response))
            }
        }
    }
}

impl<I, B, L: Limited> fmt::Debug for ResponseFuture<I, B, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
