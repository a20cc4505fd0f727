"""Tests of a document in its user's hands: `cases`, `files`, `lab`, `inputs`, `steps`, `compare`, `report`."""
