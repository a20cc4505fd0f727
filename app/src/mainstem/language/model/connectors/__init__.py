"""The kinds of sources, tables and sinks: the fields and the traits of each.

Never imports a query, a view or a rule.
"""
