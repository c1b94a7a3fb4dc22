package conformance

func refusalCases() []endToEnd { return nil }
