// Package openapitoolset builds tools from the operations of an OpenAPI document, version 3.0
// or 3.1. Each selected operation becomes a tool of package httptool, which sends its
// requests. This package owns the reading of the document; it does not know how a request is
// made.
//
// # Tools
//
// A tool is named after its operationId, or else after its method and path, with _ for
// characters other than letters, digits, _ and -; more than 64 characters are shortened, with
// a digest at the end. Its description is the operation's summary and description, at most 1
// KiB.
//
// Its arguments are the parameters in the path, the query and the headers, by their names,
// with _ for characters other than letters, digits, _, . and -; and the body, named body. If
// several arguments of an operation would have the same name, each of them except the body is
// named after its place too: path_id, query_id, header_id. If that is not enough, the
// operation is refused. Header parameters that the configuration sets itself are no arguments,
// nor are Accept, Content-Type and Authorization, as OpenAPI says.
//
// Schemas are converted to JSON Schema 2020-12. Referenced schemas, recursive references
// included, become $defs. Properties that are read-only are left out, as requests do not have
// them. A pattern that package regexp does not know is left to the server.
//
// # Bodies
//
// Of the media types of a body, JSON is sent if there is one, and a merge patch rather than
// other kinds of JSON; */* is JSON, too. Else the members of the body become the fields of a
// form, application/x-www-form-urlencoded or multipart/form-data: see [httptool.Fields]. A
// field whose encoding has the style deepObject is written with brackets, a[b][0]=c, and so is
// a query parameter of that style.
//
// # Omitted parts and operations
//
// An optional parameter that cannot be sent is left out: a cookie; a parameter with content;
// an object outside the body, except with the style deepObject; the styles spaceDelimited and
// pipeDelimited. So is an optional file in a form, and the body of GET and HEAD.
//
// An operation is not offered if it requires any of these, or has a body that is neither JSON
// nor a form, or has servers of its own that do not include the configured server, or if two
// operations would have the same tool name. [New] returns these as problems beside the tools
// of the other operations.
//
// Nothing outside the document is ever loaded: an operation that needs a reference to another
// file or address for its arguments is not offered. Operations that are not selected are not
// checked. A file in YAML with aliases is an error.
//
// Security schemes are not applied: credentials come from Config.Header, not from the
// document.
package openapitoolset
