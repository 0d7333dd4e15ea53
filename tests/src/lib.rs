//! Test suites that span crates; see tests/README.md.
