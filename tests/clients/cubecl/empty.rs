//! Nothing: the package is there for what it depends on.
