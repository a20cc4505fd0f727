"""The test bed: real servers, built from source once and started on loopback by pytest fixtures.

Importing any module here is cheap: nothing is built, started or even looked for before a fixture or `harness.build` asks.
"""
