//! The two ways to build: what is released, and what a demo needs.

/// How much work a build puts into its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    /// For releases, tests, sizes and benchmarks.
    Release,
    /// For `cargo xtask demo`: the same behaviour, built in the least time.
    Demo,
}

impl Profile {
    /// Cargo's profile for programs, which is also their folder in the target folder.
    pub(crate) const fn of_programs(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Demo => "demo",
        }
    }

    /// Cargo's profile for the probe.
    pub(crate) const fn of_wasm(self) -> &'static str {
        match self {
            Self::Release => "wasm",
            Self::Demo => "wasm-demo",
        }
    }
}
