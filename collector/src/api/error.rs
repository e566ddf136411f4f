//! Converts errors of the store to HTTP responses.

use crate::http::error::{ApiError, Reason};
use crate::store::clickhouse::client::ClickHouseError;
use crate::store::error::StoreError;

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        if error.is_memory_limited() {
            let message =
                "the memory budget leaves too little for this: ask again later, or for a shorter range";
            return Self::new(Reason::MemoryLimited, message);
        }
        tracing::error!(error = &error as &dyn std::error::Error, "A store query failed");
        if matches!(error, StoreError::ClickHouse(ClickHouseError::Away(_) | ClickHouseError::Refused { .. }))
        {
            return Self::new(Reason::StorageUnavailable, "ClickHouse is not available; try again later");
        }
        Self::new(Reason::Internal, "the store cannot be read; the collector's log has the cause")
    }
}
