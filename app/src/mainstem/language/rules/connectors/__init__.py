"""Rules for connections, sources, sinks, their options, paths and packages.

Never looks at a query's plan.
"""
