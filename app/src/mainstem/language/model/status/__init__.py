"""The status of a pipeline: fields, states and the progress of queries. It computes nothing from a running query."""
