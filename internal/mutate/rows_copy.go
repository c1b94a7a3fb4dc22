package main

// copyRows are promises about files that are damaged in their structure, or copied while they
// are written to.
func copyRows() []Row {
	return []Row{
		{
			File:    "store/boltstore/whole.go",
			What:    "if err := c.use(child); err != nil {",
			Into:    "if err := c.use(child); err != nil && false {",
			Promise: "two buckets that have the same pages are found at open",
			Test:    "TestSharedPages",
		},
		{
			File:    "store/boltstore/whole.go",
			What:    "if c.seen[id] {",
			Into:    "if false {",
			Promise: "a page of a copy is used for one thing",
			Test:    "TestWhole/twice",
		},
		{
			File:    "store/boltstore/whole.go",
			What:    "if !c.seen[id] && !c.dropped {",
			Into:    "if false {",
			Promise: "each page of a copy belongs to something",
			Test:    "TestWhole/nothing",
		},
		{
			File:    "store/boltstore/whole.go",
			What:    "return c.freelist()\n}\n\n// checkWhole",
			Into:    "return nil\n}\n\n// checkWhole",
			Promise: "a list of free pages that is damaged is found at open",
			Test:    "TestFreelist",
		},
		{
			File:    "store/boltstore/whole.go",
			What:    "value[bucketHeader:], 1, nil, nil); err != nil {",
			Into:    "value[bucketHeader:], 1, nil, nil); err != nil && false {",
			Promise: "a small bucket that points out of itself is found at open",
			Test:    "TestSmallBuckets/rowidx/value/at_open",
		},
		{
			File:    "store/boltstore/whole.go",
			What:    "\t\t\tif c.sums != nil {",
			Into:    "\t\t\tif false {",
			Promise: "a copy has no value of which parts are of another commit",
			Test:    "TestTornValue",
		},
		{
			File:    "store/boltstore/sums.go",
			What:    "case s.log != 0:",
			Into:    "case false:",
			Promise: "a copy has the values of the log that its tasks count",
			Test:    "TestCopyLacksValue/log",
		},
		{
			File:    "store/boltstore/sums.go",
			What:    "case s.derived != 0 && !s.rebuilding:",
			Into:    "case false:",
			Promise: "a copy has the lists that follow from its tasks and rows",
			Test:    "TestCopyLacksValue/list",
		},
		{
			File:    "store/boltstore/sums.go",
			What:    "case s.due != 0:",
			Into:    "case false:",
			Promise: "a copy has the due work that its tasks count",
			Test:    "TestCopyLacksValue/due",
		},
		{
			File:    "store/boltstore/sums.go",
			What:    "case s.entries != s.newest:",
			Into:    "case false:",
			Promise: "a copy has all entries of its audit",
			Test:    "TestCopyLacksValue/audit",
		},
	}
}
