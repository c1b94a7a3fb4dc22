package tool

import (
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxChecks is how many schemas may have to be checked against a value. A check takes
// microseconds, and a schema that refers to its parts again and again is short and can need
// any number of them.
const maxChecks = 4096

// bounded returns an error if a value may have to be checked against more than maxChecks
// schemas, or if their number is unknown.
func bounded(s *jsonschema.Schema) error {
	c := costs{known: map[*jsonschema.Schema]int{}}
	for c.next = append(c.next, s); len(c.next) > 0; {
		one := c.next[0]
		c.next = c.next[1:]
		c.visit(one)
	}
	switch {
	case c.dynamic:
		return errors.New("$dynamicRef and $recursiveRef are not supported; use $ref")
	case c.loop:
		return errors.New("a schema refers to itself for the same value; remove the cycle")
	case c.most > maxChecks:
		return fmt.Errorf("too many references: one value would be checked against more than %d schemas; remove some", maxChecks)
	}
	return nil
}

// costs counts how many schemas a value is checked against for each schema.
type costs struct {
	known   map[*jsonschema.Schema]int // at most maxChecks+1; 0 while it is being counted
	next    []*jsonschema.Schema       // of parts of values
	most    int
	loop    bool // a schema applies itself to the same value
	dynamic bool // the target of a reference depends on the value
}

// visit counts s and all schemas that it applies to the same value.
func (c *costs) visit(s *jsonschema.Schema) int {
	if s == nil {
		return 0
	}
	if n, ok := c.known[s]; ok {
		c.loop = c.loop || n == 0
		return n
	}
	c.known[s] = 0
	c.dynamic = c.dynamic || s.DynamicRef != nil || s.RecursiveRef != nil
	n := 1
	for _, one := range sameValue(s) {
		n = min(n+c.visit(one), maxChecks+1)
	}
	c.known[s], c.most = n, max(c.most, n)
	c.next = append(c.next, otherValues(s)...)
	return n
}

// sameValue returns the schemas that s applies to the value itself.
func sameValue(s *jsonschema.Schema) []*jsonschema.Schema {
	all := []*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else}
	all = append(append(append(all, s.AllOf...), s.AnyOf...), s.OneOf...)
	for _, one := range s.DependentSchemas {
		all = append(all, one)
	}
	for _, one := range s.Dependencies {
		all = append(all, schemasOf(one)...)
	}
	return all
}

// otherValues returns the schemas that s applies to parts of the value.
func otherValues(s *jsonschema.Schema) []*jsonschema.Schema {
	all := []*jsonschema.Schema{s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems, s.ContentSchema}
	for _, one := range s.Properties {
		all = append(all, one)
	}
	for _, one := range s.PatternProperties {
		all = append(all, one)
	}
	all = append(all, s.PrefixItems...)
	for _, one := range []any{s.AdditionalProperties, s.Items, s.AdditionalItems} {
		all = append(all, schemasOf(one)...)
	}
	return all
}

// schemasOf returns the schemas in a field of the library that may have something else.
func schemasOf(v any) []*jsonschema.Schema {
	switch v := v.(type) {
	case *jsonschema.Schema:
		return []*jsonschema.Schema{v}
	case []*jsonschema.Schema:
		return v
	}
	return nil
}
