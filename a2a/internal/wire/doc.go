// Package wire has what clients of every binding get alike: the table of errors
// ([Errors]), from which docs/errors.md is generated, the versions of A2A, and the media types. [Of] is the only
// way from an error of the server to an [Error]. How a binding writes an error is up to the
// binding.
package wire
