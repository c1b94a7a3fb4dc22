package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"

	"a2a-server/internal/guard"
	"a2a-server/internal/strictjson"
)

// A Definition describes a tool to a language model.
type Definition struct {
	Name        string
	Description string
	Parameters  map[string]any // JSON Schema of the arguments, nil if there is none
	Claims      []string       // the claims of a [Claimant], to be shown
}

// ToDefinition returns the definition of t.
func ToDefinition(t Tool) Definition {
	d := Definition{Name: t.Name(), Description: t.Description()}
	if s, ok := As[interface{ Schema() map[string]any }](t); ok {
		d.Parameters = s.Schema()
	}
	if c, ok := As[Claimant](t); ok {
		d.Claims = c.Claims()
	}
	return d
}

// definitionSize is as how many tools a definition counts in a cache, which so keeps 4096 of them.
const definitionSize = maxCached/4096 - 1

// definitions caches compiled tool definitions: compiling and digesting a schema takes a
// hundred times longer than checking a call.
type definitions struct {
	byKey    cache[definitionKey, *definition]
	byDigest cache[string, *Schema] // for tools that build the same schema again
}

// definition is a tool's definition with its compiled schema and its digest.
type definition struct {
	Definition
	digest string // as in [Registered]
	schema *Schema
}

// definitionKey compares definitions without reading the schema: equal keys hold the same map.
// That map never changes (see [CallableTool]), and its address is not reused while the cache
// refers to it.
type definitionKey struct {
	name, description, identity string
	claims                      string // quoted
	parameters                  uintptr
}

// of returns the definition of t. No lock is held while t is called or a schema is compiled; at worst
// two callers compile the same schema.
func (c *definitions) of(t Tool) (_ *definition, err error) {
	defer guard.Recover(&err, "its definition panicked")
	d := &definition{Definition: ToDefinition(t)}
	key := definitionKey{name: d.Name, description: d.Description, claims: fmt.Sprintf("%q", d.Claims), parameters: reflect.ValueOf(d.Parameters).Pointer()}
	if i, ok := As[Identified](t); ok {
		key.identity = i.Identity()
	}
	if hit, known := c.byKey.load(key); known {
		return hit, nil
	}
	if d.digest, err = Digest(d.Definition); err != nil {
		return nil, err
	}
	if key.identity != "" { // an approval is valid for both
		sum := sha256.Sum256([]byte(d.digest + "\x00" + key.identity)) // the first part is of a fixed length
		d.digest = hex.EncodeToString(sum[:])
	}
	var known bool
	if d.schema, known = c.byDigest.load(d.digest); !known {
		if d.schema, err = CompileSchema(d.Parameters); err != nil {
			return nil, err
		}
		d.schema = c.byDigest.store(d.digest, definitionSize, d.schema)
	}
	return c.byKey.store(key, definitionSize, d), nil
}

// Digest returns the digest of a definition: the hexadecimal SHA-256 of the RFC 8785 form
// of its name, description, parameters and, if there are any, claims: people and gates decide by them, too. The
// error says that the parameters are not JSON.
func Digest(d Definition) (string, error) {
	members := map[string]any{"name": d.Name, "description": d.Description, "parameters": d.Parameters}
	if len(d.Claims) > 0 {
		members["claims"] = d.Claims
	}
	form, err := strictjson.Canonical(members)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(form)
	return hex.EncodeToString(sum[:]), nil
}

// Identified is a tool whose definition does not identify its implementation, such as a tool
// of another server: two servers may define a tool alike. It is looked up with [As].
type Identified interface {
	// Identity returns a text that identifies the implementation, without secrets; equal texts
	// mean the same implementation. An approval is valid only for the identity that it was
	// given for. "" adds nothing to the definition.
	Identity() string
}
