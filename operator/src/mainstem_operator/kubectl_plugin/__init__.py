"""`kubectl mainstem`: runs `mainstem checkpoint` in a pod of the pipeline's namespace, and `mainstem diff --cluster`, and
promotes documents that are on trial.

It acts with the rights of the person at the keyboard. The operator itself never imports it.
"""
