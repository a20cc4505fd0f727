"""Pods, ConfigMaps, roles and accounts as manifests; pure.

Never writes them; `loop.apply` does.
"""
