// Package openapitoolset builds tools from the operations of an OpenAPI document, version
// 3.0 or 3.1. Each operation that is listed becomes a tool of package httptool, which sends
// its requests. This package owns how a document is read, and what of it is used; it does not
// know how a request is made.
//
// # Tools
//
// A tool is named after its operationId, or else after its method and path, with _ for
// characters other than letters, digits, _ and -; more than 64 characters are shortened,
// with a digest at the end. Its description is the operation's summary and description, at
// most 1 KiB.
//
// Its arguments are the parameters in the path, the query and the headers, by their names,
// with _ for characters other than letters, digits, _, . and -; and the JSON body, named
// body. If several arguments of an operation would have the same name, each of them except
// the body is named after its place too: path_id, query_id, header_id. If that is not enough,
// the operation is refused. Header parameters that the configuration sets itself are no
// arguments, nor are Accept, Content-Type and Authorization, as OpenAPI says.
//
// Schemas are converted to JSON Schema 2020-12. Referenced ones, recursive ones too, become
// $defs. Properties that are read-only are left out, as requests do not have them. A pattern
// that package regexp does not know is left to the server.
//
// # What is refused
//
// Nothing outside the document is ever loaded: a reference to another file or address, in
// an operation that is used, is an error that says where it is. So are cookies, parameters
// with content or with the styles label, matrix, spaceDelimited, pipeDelimited and
// deepObject, bodies without JSON, servers of a single operation, and YAML with aliases.
// What other operations have does not matter.
//
// Security schemes are not applied: the document does not decide which credentials are sent.
// Config.Header does.
package openapitoolset
