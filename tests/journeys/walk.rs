//! Made-up apps do the same with the probe as without it, in every engine: what they read, what fails and how,
//! what is locked and used, and what the server saw.

use anyhow::{Result, ensure};
use tests::{Engine, walk};

use crate::in_every_engine;

#[tokio::test(flavor = "multi_thread")]
async fn random_programs_behave_the_same_with_the_probe() -> Result<()> {
    in_every_engine(does_the_same).await
}

async fn does_the_same(engine: Engine) -> Result<()> {
    let walk = walk(engine, "llm-rum", FIRST, PROGRAMS, SECONDS).await?;
    println!("{} programs in {engine}, {} of them run more than once", walk.ran, walk.reruns);
    walk.same()?;
    ensure!(walk.ran >= FEWEST, "only {} programs in {SECONDS} s", walk.ran);
    Ok(())
}

const FIRST: u32 = 1;
const PROGRAMS: u32 = 120;
const SECONDS: u32 = 20;
/// On a machine with much else to do.
const FEWEST: u32 = 10;
