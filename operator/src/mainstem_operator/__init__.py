"""The Kubernetes operator of Mainstem; empty until documents run on clusters."""
