// Package conformance holds one table of end-to-end cases that runs over every binding of
// every version of A2A that the server speaks. A case is written once, against what a
// client of A2A can do. The client has one reader and one writer for each encoding, and a
// carrier for each binding, written by hand from the specification or generated from the
// SDKs' protobuf, without the code of this repository that encodes and decodes.
//
// What the clients get is compared in one form, and has to be equal. Where the versions or
// the bindings do not allow that, the case says for which of them, and why; a difference
// that is declared and not there fails, too.
package conformance
