//! The collector from outside: requests through the router, and the real binary where a process has to
//! die or to listen.

mod access;
mod auth_proxy;
mod backup;
mod cluster;
mod counting;
mod countries;
mod crash;
mod deploy;
mod disk;
mod endings;
mod harness;
mod hostile;
mod import;
mod ingest;
mod limited_token;
mod live;
mod operations;
mod otlp;
mod phases;
mod process;
mod queries;
mod ranges;
mod recent_refusals;
mod refusals;
mod replay;
mod running;
mod samples;
mod secrets;
mod seeds;
mod session;
mod slo;
mod snippet;
mod space;
mod throughput;
