"""A real Kubernetes cluster of one node for tests and for trying things: `python -m harness.cluster up`.

Two providers behind one interface, `TestCluster`: `kind` where Docker answers, `bare` elsewhere. Who uses a cluster sees a
kubeconfig and "load this image", nothing else.
"""
