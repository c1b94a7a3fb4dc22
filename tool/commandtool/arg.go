package commandtool

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"a2a-server/tool"
)

// file is the type of an argument that is a path; JSON Schema has all other types.
const file = "file"

// Arg is an argument of a call. It is required unless it is Optional or has a Default.
type Arg struct {
	// Type is string, integer, number, boolean (written true or false) or file: the path of a file or
	// a folder in the tool's folder, relative to it or absolute. Anything that leaves the folder, by
	// ".." or by a symbolic link, is refused. The command gets the path relative to the folder.
	// Defaults to string.
	Type        string
	Description string
	Enum        []any  // the values that are allowed; nil: all. They may begin with "-".
	Pattern     string // of a string, in the syntax of package regexp; anchor it with ^ and $
	Optional    bool
	Default     any            // of a call that leaves it out
	Keywords    map[string]any // more of its JSON Schema, such as maxLength, minimum or format

	// Open hands a file over open for reading: the command gets a path such as /dev/fd/3,
	// which leads to the very file that was checked, whatever happens to its name
	// meanwhile. It must be a regular file. Programs that look at a file's name, such as
	// its extension, or that write next to it, cannot work with that.
	Open bool
	// MayBeMissing allows a file that does not exist, in a folder that does.
	MayBeMissing bool
}

// ArgFrom returns the argument that a JSON Schema describes. For the type file,
// the keywords open and mayBeMissing set Open and MayBeMissing.
func ArgFrom(schema map[string]any) (Arg, error) {
	var a Arg
	rest := maps.Clone(schema)
	err := cmp.Or(
		take(rest, "type", &a.Type), take(rest, "description", &a.Description), take(rest, "pattern", &a.Pattern),
		take(rest, "enum", &a.Enum), take(rest, "open", &a.Open), take(rest, "mayBeMissing", &a.MayBeMissing),
	)
	if err != nil {
		return a, err
	}
	a.Type, a.Default = a.kind(), rest["default"]
	if delete(rest, "default"); len(rest) > 0 {
		a.Keywords = rest
	}
	err = a.check()
	return a, err
}

// take moves the value of a keyword, if a schema has it.
func take[T any](schema map[string]any, keyword string, to *T) error {
	v, has := schema[keyword]
	if !has {
		return nil
	}
	delete(schema, keyword)
	var ok bool
	if *to, ok = v.(T); !ok {
		return fmt.Errorf("the keyword %s cannot be %v", keyword, v)
	}
	return nil
}

func (a *Arg) kind() string { return cmp.Or(a.Type, "string") }

func (a *Arg) required() bool { return !a.Optional && a.Default == nil }

func (a *Arg) check() error {
	switch {
	case !slices.Contains([]string{"string", "integer", "number", "boolean", file}, a.kind()):
		return fmt.Errorf("%q is not a type: use string, integer, number, boolean or file", a.Type)
	case a.Pattern != "" && a.kind() != "string":
		return errors.New("only a string has a pattern")
	case (a.Open || a.MayBeMissing) && a.kind() != file:
		return errors.New("only a file can be handed over open, or be missing")
	case a.Open && a.MayBeMissing:
		return errors.New("a file that may be missing cannot be handed over open")
	}
	fits, err := tool.CompileSchema(map[string]any{"type": "object", "properties": map[string]any{"value": a.schema()}})
	if err != nil {
		return err
	}
	values := a.Enum
	if a.Default != nil {
		values = append(slices.Clip(values), a.Default)
	}
	for _, v := range values {
		v, err := plainValue(v)
		if err == nil {
			err = fits.Validate(map[string]any{"value": v})
		}
		if err != nil {
			return fmt.Errorf("the value %v does not fit it: %w", v, err)
		}
	}
	return nil
}

// plainValue returns v as decoding JSON would.
func plainValue(v any) (any, error) {
	raw, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(raw, &v)
	}
	return v, err
}

// schema is the JSON Schema of the argument.
func (a *Arg) schema() map[string]any {
	s := map[string]any{}
	maps.Copy(s, a.Keywords)
	s["type"] = a.kind()
	if a.kind() == file {
		s["type"], s["minLength"] = "string", 1
	}
	for keyword, value := range map[string]string{"description": a.Description, "pattern": a.Pattern} {
		if value != "" {
			s[keyword] = value
		}
	}
	if a.Enum != nil {
		s["enum"] = a.Enum
	}
	if a.Default != nil {
		s["default"] = a.Default
	}
	return s
}

// newSchema returns the schema of the arguments. Its comment identifies the command: an
// approval is bound to the schema, so it does not cover another command. The comment covers
// the names of environment variables, not their values.
func (t *command) newSchema() (map[string]any, error) {
	c := &t.config
	identity, err := json.Marshal([]any{
		c.Run, c.Free, c.Dir, c.Stdin, slices.Sorted(maps.Keys(c.Env)), slices.Sorted(maps.Keys(c.Secrets)), c.Args, c.Identity,
	})
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(identity)
	s := map[string]any{"type": "object", "additionalProperties": false, "$comment": "command " + hex.EncodeToString(sum[:8])}
	if t.free != nil {
		maps.Copy(s, freeSchema())
		return s, nil
	}
	properties, required := map[string]any{}, []any{}
	for _, name := range slices.Sorted(maps.Keys(c.Args)) {
		arg := c.Args[name]
		properties[name] = arg.schema()
		if arg.required() {
			required = append(required, name)
		}
	}
	s["properties"] = properties
	if len(required) > 0 {
		s["required"] = required
	}
	return s, nil
}
