"""From the document to DataFrames and running queries: `sources`, `decode`, `views`, `steps`, `sinks`, `query`."""
