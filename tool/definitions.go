package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"sync"

	"a2a-server/internal/strictjson"
)

// maxDefinitions bounds how many definitions are kept. A toolset that makes them
// again each time can fill it up; then it is emptied.
const maxDefinitions = 4096

// definitions keeps what was computed from definitions of tools: compiling a schema
// and digesting it take a hundred times longer than checking a call.
type definitions struct {
	mu       sync.Mutex
	byKey    map[definitionKey]*definition
	byDigest map[string]*definition // for tools that make the same schema again
}

// definition is a definition with what was computed from it.
type definition struct {
	Definition
	digest string
	schema *Schema
}

// definitionKey is equal for definitions that are the same without looking at the
// schema: it is the same map. Nobody changes it (see [CallableTool]), and its
// address is not given to another one while the cache holds on to it.
type definitionKey struct {
	name, description string
	parameters        uintptr
}

func newDefinitions() *definitions {
	return &definitions{byKey: map[definitionKey]*definition{}, byDigest: map[string]*definition{}}
}

// of returns the definition of t. The lock is not held while t is asked or a schema
// is compiled; at worst two callers compile the same.
func (c *definitions) of(t Tool) (_ *definition, err error) {
	defer recovered(&err, "its definition")
	d := &definition{Definition: ToDefinition(t)}
	key := definitionKey{d.Name, d.Description, reflect.ValueOf(d.Parameters).Pointer()}
	if hit := c.lookup(func() *definition { return c.byKey[key] }); hit != nil {
		return hit, nil
	}
	if d.digest, err = digest(d.Definition); err != nil {
		return nil, err
	}
	if hit := c.lookup(func() *definition { return c.byDigest[d.digest] }); hit != nil {
		d.schema = hit.schema
	} else if d.schema, err = CompileSchema(d.Parameters); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.byKey) >= maxDefinitions {
		clear(c.byKey)
		clear(c.byDigest)
	}
	c.byKey[key] = d
	c.byDigest[d.digest] = d
	return d, nil
}

func (c *definitions) lookup(get func() *definition) *definition {
	c.mu.Lock()
	defer c.mu.Unlock()
	return get()
}

// digest returns what Entry.Digest says.
func digest(d Definition) (string, error) {
	form, err := strictjson.Canonical(map[string]any{
		"name": d.Name, "description": d.Description, "parameters": d.Parameters,
	})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(form)
	return hex.EncodeToString(sum[:]), nil
}
