//! Worker threads: a new connection goes to the thread with the fewest connections and stays there.
//!
//! With `journal.sync = "full"`, requests wait for the disk in groups, several thousand times a second.
//! Workers that share tasks would wake each other for each group and find no work, which costs a fifth of
//! their time. So each worker has its own runtime.
//!
//! With `"normal"`, workers write to the journal themselves. While a slow disk blocks one, others must serve
//! its connections, so they share one runtime.

use std::io;
use std::num::NonZero;
use std::sync::Arc;
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use crate::config::Sync;

/// Running threads. Dropping them ends the threads and their open connections.
pub(crate) struct Workers(Vec<Worker>);

struct Worker {
    runtime: Handle,
    /// Cloned for each open connection, to count them.
    open: Arc<()>,
    /// Dropping it stops the thread.
    _stop: oneshot::Sender<()>,
}

impl Workers {
    /// Starts one thread per processor.
    pub(crate) fn start(sync: Sync) -> io::Result<Self> {
        let workers = match sync {
            Sync::Normal => vec![Worker::start(Builder::new_multi_thread())?],
            Sync::Full => {
                let count = thread::available_parallelism().map_or(1, NonZero::get);
                (0..count).map(|_| Worker::start(Builder::new_current_thread())).collect::<io::Result<_>>()?
            }
        };
        Ok(Self(workers))
    }

    /// Runs a connection to its end on the worker with the fewest connections.
    pub(crate) fn serve(&self, connection: impl Future<Output = ()> + Send + 'static) {
        let idlest = self.0.iter().min_by_key(|worker| Arc::strong_count(&worker.open));
        let worker = idlest.expect("there is at least one processor");
        let open = worker.open.clone();
        worker.runtime.spawn(async move {
            connection.await;
            drop(open);
        });
    }
}

impl Worker {
    fn start(mut builder: Builder) -> io::Result<Self> {
        let runtime = builder.enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let run = move || {
            let _dropped = runtime.block_on(stopped);
            // Does not wait for queries that the disk blocks.
            runtime.shutdown_background();
        };
        thread::Builder::new().name("worker".into()).spawn(run)?;
        Ok(Self { runtime: handle, open: Arc::default(), _stop: stop })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn connections_are_spread_over_the_threads_and_end_with_them() {
        let workers = Workers::start(Sync::Full).unwrap();
        let count = workers.0.len();
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        for _ in 0..2 * count {
            let sender = sender.clone();
            workers.serve(async move {
                sender.send(thread::current().id()).unwrap();
                std::future::pending::<()>().await;
            });
        }
        drop(sender);
        let mut threads = Vec::new();
        for _ in 0..2 * count {
            threads.push(receiver.recv().await.unwrap());
        }
        for thread in &threads {
            assert_eq!(threads.iter().filter(|other| *other == thread).count(), 2);
        }
        drop(workers);
        assert_eq!(receiver.recv().await, None, "no connection is left");
    }
}
