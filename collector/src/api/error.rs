//! Converts errors of the store to HTTP responses.

use crate::http::error::{ApiError, Reason};
use crate::store::clickhouse::client::ClickHouseError;
use crate::store::error::StoreError;

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        tracing::error!(error = &error as &dyn std::error::Error, "A store query failed");
        if matches!(error, StoreError::ClickHouse(ClickHouseError::Away(_) | ClickHouseError::Refused { .. }))
        {
            return Self::new(Reason::StorageUnavailable, "ClickHouse is not available; try again later");
        }
        Self::new(Reason::Internal, "the store cannot be read; the collector's log has the cause")
    }
}
