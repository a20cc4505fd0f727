"""Documents of resources: read, checked, hashed to a revision; in processes of their own.

Never speaks to the API server.
"""
