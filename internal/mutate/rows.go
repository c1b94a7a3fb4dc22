package main

import "slices"

// rows is the table: a group for each package whose code is changed.
func rows() []Row {
	return slices.Concat(
		approvalRows(),
	)
}

func approvalRows() []Row {
	return []Row{
		{
			File:    "approval/check.go",
			What:    "ans.Digest != a.Digest",
			Into:    "false",
			Promise: "a decision that names other arguments than those asked about is refused",
			Test:    "TestCheck/F1 another digest",
		},
	}
}
