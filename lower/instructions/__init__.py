"""Nests that are one operation: scans, filters, searches, ragged sums, windows, convolutions, factorizations."""
