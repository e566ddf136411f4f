//! A thread that runs one job until the job ends or its handle is dropped. Dropping the handle stops the job and waits
//! for it.

use std::io;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

/// A running job.
pub(crate) struct Background {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// Starts a job. Its channel is closed when it has to end, so the job waits on the channel.
    pub(crate) fn start(name: &str, job: impl FnOnce(&Receiver<()>) + Send + 'static) -> io::Result<Self> {
        let (stop, stopped) = mpsc::channel();
        let thread = thread::Builder::new().name(name.into()).spawn(move || job(&stopped))?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // The panic was reported where it happened, and must not cause a second one here.
            let _panicked = thread.join();
        }
    }
}
