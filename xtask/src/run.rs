//! Running other programs: shown before they run, an error when they fail.

use std::io;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

/// Runs to the end. What it says goes to standard error: standard output is for what was asked for.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    show(command.stdout(io::stderr()))
}

/// Runs to the end with this terminal's input and output.
pub(crate) fn show(command: &mut Command) -> Result<()> {
    eprintln!("$ {}", shown(command));
    let status = command.status().with_context(|| format!("cannot start {}", shown(command)))?;
    if !status.success() {
        bail!("{} ended with {status}", shown(command));
    }
    Ok(())
}

/// Runs to the end and gives back its standard output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    eprintln!("$ {}", shown(command));
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start {}", shown(command)))?;
    if !output.status.success() {
        bail!("{} ended with {}", shown(command), output.status);
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// A child that is asked to stop, and waited for, when this goes out of scope.
pub(crate) struct Guard(pub(crate) Child);

impl Drop for Guard {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(Some(_))) {
            return;
        }
        let asked = Command::new("kill").args(["-TERM", &self.0.id().to_string()]).status();
        if !asked.is_ok_and(|status| status.success()) {
            // Gone in the meantime is as good as killed.
            let _ = self.0.kill();
        }
        let _ = self.0.wait();
    }
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}
