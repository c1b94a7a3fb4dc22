// Package strictjson decodes JSON from outside so that it can mean one thing only.
//
// What is shown to somebody, digested, checked and run must be one value, whoever
// reads it. So all that different readers take differently is refused: names that
// occur twice, text that is not UTF-8, halves of surrogate pairs, integers that a
// double cannot hold, numbers beyond its range, and nesting that somebody's stack
// may not survive. What is accepted decodes as encoding/json decodes it into an
// any: objects to map[string]any, arrays to []any, numbers to float64.
//
// It knows nothing of what the JSON means, and does not limit its length, but how many
// values a request may hold: [MaxValues].
package strictjson
