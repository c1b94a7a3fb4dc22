package a2a

import "a2a-server/auth"

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
	for _, op := range table() {
		x := Operation{Name: op.name, Old: op.old, Summary: op.summary, Action: op.action, Streams: op.stream != nil}
		for _, r := range op.routes {
			x.Routes = append(x.Routes, Route{
				Method: r.method, Path: r.path, Query: r.from == query,
				Body: r.from == body, BodyOrEmpty: r.from == someBody && r.method != "GET",
			})
		}
		all = append(all, x)
	}
	return all
}
