class HarnessError(Exception):
    """The test bed itself is at fault: a tool is missing, a build failed, a server died or did not get ready.

    The message ends with the tail of the log, where there is one.
    """
