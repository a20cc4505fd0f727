"""The validating admission webhook: it checks a StreamingPipeline before the API server stores it.

Every replica of the operator answers. It changes nothing, and the operator checks every document again.
"""
