package main

import "slices"

// rows is the table: a group for each package whose code is changed.
func rows() []Row {
	return slices.Concat(
		approvalRows(),
		dialectRows(),
		storeRows(),
		toolRows(),
		strictjsonRows(),
	)
}
