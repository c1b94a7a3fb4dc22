package main

func visibleRows() []Row {
	return []Row{
		{
			File:    "internal/visible/visible.go",
			What:    "unicode.Variation_Selector, ",
			Into:    "",
			Promise: "what changes how others are seen is shown as what it is",
			Test:    "TestInvisible/variation selectors",
		},
		{
			File:    "internal/visible/visible.go",
			What:    "!unicode.IsGraphic(r) || blank(r) ||",
			Into:    "!unicode.IsGraphic(r) ||",
			Promise: "what leaves no mark is shown as what it is",
			Test:    "TestInvisible/blank",
		},
	}
}
