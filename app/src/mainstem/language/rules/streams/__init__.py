"""Rules for what Spark refuses of a stream: operators, joins, state, output modes, triggers.

Never refuses a plan that is not certain.
"""
