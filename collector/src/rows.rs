//! Single streams as rows of a table, for programs that read tables. Columns: `docs/stream-rows.md`.

pub(crate) mod column;
pub(crate) mod parquet_reader;
pub(crate) mod parquet_writer;

#[cfg(test)]
mod tests;
