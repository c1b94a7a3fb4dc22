package a2a

import (
	"a2a-server/a2a/operation"
	"a2a-server/auth"
)

// Operation is an entry of the table, for tests that walk it.
type Operation struct {
	Name, Old, Summary string
	Action             auth.Action
	Streams            bool
	Routes             []Route
}

// Route is a route of an operation.
type Route struct {
	Method, Path      string
	Query             bool // the request is in the query
	Body, BodyOrEmpty bool // the request is in the body, which may be left out if it is BodyOrEmpty
}

// Operations returns the table.
func Operations() []Operation {
	var all []Operation
	for _, op := range operation.Table() {
		x := Operation{Name: op.Name, Old: op.Old, Summary: op.Summary, Action: op.Action, Streams: op.Stream != nil}
		for _, r := range op.Routes {
			x.Routes = append(x.Routes, Route{
				Method: r.Method, Path: r.Path, Query: r.From == operation.InQuery,
				Body: r.From == operation.InBody, BodyOrEmpty: r.From == operation.InOptionalBody && r.Method != "GET",
			})
		}
		all = append(all, x)
	}
	return all
}
