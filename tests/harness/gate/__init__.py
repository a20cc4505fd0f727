"""One run of the tiers: what to run, what failed, what passed when it was repeated alone, and the text at its end."""
