"""Rules for relations and their names: references, SQL names, functions, expectations, steps.

Never looks at triggers, output modes or state.
"""
