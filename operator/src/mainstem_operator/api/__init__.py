"""The API server: reads, server-side apply, deletion, and the fence before every write.

Never decides what to write; `kubernetes_api` alone imports `kubernetes`.
"""
