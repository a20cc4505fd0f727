"""The test bed: real servers, built from source once and started on loopback by pytest fixtures.

Importing any module here is cheap: only a fixture or `harness.build` builds or starts something.
"""
