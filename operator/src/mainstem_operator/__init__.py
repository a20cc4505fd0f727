"""The Kubernetes operator of Mainstem; `docs/architecture.md` names its modules in reading order."""
