"""The runtime: `runner` ties it together; `supervisor` starts, restarts and drains queries; `progress` is pure."""
