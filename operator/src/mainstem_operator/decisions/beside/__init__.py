"""What happens to the pods that look at a changed document beside the running driver; pure."""
