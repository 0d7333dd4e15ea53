//! Empty library: the package exists for its dependencies.
