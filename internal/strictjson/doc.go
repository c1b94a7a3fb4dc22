// Package strictjson decodes JSON from outside so that it has only one meaning.
//
// The value that a person sees, and the value that is digested, validated and run, must be the
// same. So the package refuses JSON that parsers read differently: duplicate names, invalid
// UTF-8, halves of surrogate pairs, integers that a double cannot represent exactly, numbers
// out of its range, and nesting deep enough to overflow a stack. Everything else decodes as
// with encoding/json into an any: objects to map[string]any, arrays to []any, numbers to
// float64.
//
// The package does not know the meaning of the JSON. It limits how many values a request may
// have ([MaxValues]), but not its length.
package strictjson
