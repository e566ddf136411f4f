//! Runs other programs. A program that fails is an error.
//!
//! Each command is shown before it runs, with what it prints. Within [`quietly`] both are kept instead.

use std::cell::RefCell;
use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};

use anyhow::{Context, Result, bail};

thread_local! {
    /// The commands of [`quietly`] and their output. `None`: they go to the terminal.
    static TRANSCRIPT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Does `work` without printing its commands and their output, and gives them back beside the result.
pub(crate) fn quietly<T>(work: impl FnOnce() -> T) -> (T, String) {
    TRANSCRIPT.set(Some(String::new()));
    let result = work();
    (result, TRANSCRIPT.take().unwrap_or_default())
}

/// Runs to the end. Output goes to standard error: standard output is for the result of the xtask command.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    if is_quiet() { keep_output(command) } else { show(command.stdout(io::stderr())) }
}

/// Runs to the end with this terminal's input and output.
pub(crate) fn show(command: &mut Command) -> Result<()> {
    announce(command);
    let status = command.status().with_context(|| cannot_start(command))?;
    ensure_success(command, status)
}

/// Runs to the end and gives back its standard output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    announce(command);
    let stderr = if is_quiet() { Stdio::piped() } else { Stdio::inherit() };
    let output = command.stderr(stderr).output().with_context(|| cannot_start(command))?;
    keep(&String::from_utf8_lossy(&output.stderr));
    ensure_success(command, output.status)?;
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

fn keep_output(command: &mut Command) -> Result<()> {
    announce(command);
    let (mut reader, writer) = io::pipe()?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn().with_context(|| cannot_start(command))?;
    // A pipe is read to its end once all its writers are closed, and `command` holds two.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut output = Vec::new();
    reader.read_to_end(&mut output)?;
    keep(&String::from_utf8_lossy(&output));
    ensure_success(command, child.wait()?)
}

fn announce(command: &Command) {
    let line = format!("$ {}\n", shown(command));
    if is_quiet() { keep(&line) } else { eprint!("{line}") }
}

fn is_quiet() -> bool {
    TRANSCRIPT.with_borrow(Option::is_some)
}

fn keep(output: &str) {
    TRANSCRIPT.with_borrow_mut(|transcript| transcript.iter_mut().for_each(|text| text.push_str(output)));
}

fn ensure_success(command: &Command, status: ExitStatus) -> Result<()> {
    if !status.success() {
        bail!("{} ended with {status}", shown(command));
    }
    Ok(())
}

fn cannot_start(command: &Command) -> String {
    format!("cannot start {}", shown(command))
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_commands_keep_both_outputs_in_order() {
        let script = "echo one; echo two >&2; echo three; exit 3";
        let (result, transcript) = quietly(|| run(Command::new("sh").args(["-c", script])));
        assert!(result.unwrap_err().to_string().ends_with("exit status: 3"));
        assert_eq!(transcript, format!("$ sh -c {script}\none\ntwo\nthree\n"));
    }
}
