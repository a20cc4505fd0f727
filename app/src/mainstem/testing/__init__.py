"""Tests of a document in its user's hands: `cases`, `files`, `lab`, `inputs`, `records`, `steps`, `compare`, `report`."""
