package main

import "slices"

// rows is the table, by area.
func rows() []row {
	return slices.Concat(approvalRows(), engineRows(), protocolRows(), pushRows(), storeRows(), taskRows())
}
