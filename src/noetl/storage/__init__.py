"""Stores: each passes the same conformance suite."""
