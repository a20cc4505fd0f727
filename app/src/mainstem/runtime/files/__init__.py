"""Files of sources that no batch reads."""
