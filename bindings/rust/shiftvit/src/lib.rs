//! A safe interface to libshiftvit.
