"""Running a suite in a box so that its results can be believed, and grading a submission with it."""
