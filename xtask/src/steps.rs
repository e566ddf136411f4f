//! The progress of a command: numbered steps, one line each with its time.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::run::quietly;
use crate::stamp::Built;

/// The steps of one command.
pub(crate) struct Steps {
    total: usize,
    begun: usize,
    verbose: bool,
}

impl Steps {
    /// Of `total` steps. With `verbose` the commands of each and their output are printed as well.
    pub(crate) const fn new(total: usize, verbose: bool) -> Self {
        Self { total, begun: 0, verbose }
    }

    /// Does one step. The output of its commands is printed if it fails.
    pub(crate) fn step<T>(&mut self, name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.print(name, work, |_, time| seconds(time))
    }

    /// Does a step that may have nothing to build.
    pub(crate) fn product(&mut self, name: &str, work: impl FnOnce() -> Result<Built>) -> Result<()> {
        let ending = |built: &Built, time| match built {
            Built::Now => seconds(time),
            Built::Before => "unchanged".to_owned(),
        };
        self.print(name, work, ending).map(|_| ())
    }

    fn print<T>(
        &mut self,
        name: &str,
        work: impl FnOnce() -> Result<T>,
        ending: impl FnOnce(&T, Duration) -> String,
    ) -> Result<T> {
        self.begun += 1;
        let begun = Instant::now();
        let line = format!("[{}/{}] {name} …", self.begun, self.total);
        eprint!("{line}");
        if self.verbose {
            eprintln!();
            let made = work()?;
            eprintln!("{line} {}", ending(&made, begun.elapsed()));
            return Ok(made);
        }
        io::stderr().flush()?;
        let (result, transcript) = quietly(work);
        match &result {
            Ok(made) => eprintln!(" {}", ending(made, begun.elapsed())),
            Err(_) => eprint!(" failed\n{transcript}"),
        }
        result
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.0} s", time.as_secs_f64())
}
