"""Benchmarks: this project's saver beside its peers, measured on one machine in one run. Imported by nothing."""
