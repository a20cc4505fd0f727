"""Rules for streams: operators, joins, state, output modes and triggers that Spark does not support.

Never rejects a plan that is not certain.
"""
