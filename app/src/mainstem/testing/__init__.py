"""Tests of a document in its user's hands: `cases`, `beside`, `files`, `lab`, `inputs`, `records`, `steps`, `compare`, `report`."""
