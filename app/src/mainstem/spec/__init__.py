"""The language: frozen models of the document (`pipeline`), its text (`yamltext`, `document`), its rules (`rules`).

Nothing here knows Spark or Kubernetes.
"""
