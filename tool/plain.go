package tool

import (
	"math"
	"slices"
)

// plain is a schema that only uses types, names and enums of strings, as most tools'
// schemas do. It recognizes a valid value in a tenth of the time that the library takes;
// a test checks that the two agree.
type plain struct {
	kind       string // of "type"; "": any value
	enum       []any  // strings; nil: any
	properties map[string]*plain
	required   []string
	others     *plain // properties with other names; nil: there must be none
	items      *plain
}

// anything is the schema of names and items that a schema does not mention.
var anything = &plain{}

// plainOf returns nil for a decoded schema that uses anything else.
func plainOf(schema any) *plain {
	keywords, ok := schema.(map[string]any)
	if !ok {
		return nil
	}
	p := &plain{properties: map[string]*plain{}, others: anything, items: anything}
	for keyword, value := range keywords {
		switch keyword {
		case "type":
			p.kind, ok = value.(string)
		case "enum":
			p.enum, ok = value.([]any)
			ok = ok && keywords["type"] == "string"
		case "properties":
			ok = p.setProperties(value)
		case "required":
			ok = p.setRequired(value)
		case "additionalProperties":
			if value == false {
				p.others = nil
			} else if value != true {
				p.others = plainOf(value)
				ok = p.others != nil
			}
		case "items":
			p.items = plainOf(value)
			ok = p.items != nil
		case "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment":
		default:
			ok = false
		}
		if !ok {
			return nil
		}
	}
	return p
}

func (p *plain) setProperties(value any) bool {
	named, ok := value.(map[string]any)
	for name, schema := range named {
		if p.properties[name] = plainOf(schema); p.properties[name] == nil {
			return false
		}
	}
	return ok
}

func (p *plain) setRequired(value any) bool {
	names, ok := value.([]any)
	for _, name := range names {
		text, is := name.(string)
		if !is {
			return false
		}
		p.required = append(p.required, text)
	}
	return ok
}

// fits reports whether v, a JSON value as encoding/json decodes it, is valid. False is
// inconclusive: the library then decides, and reports what is wrong.
func (p *plain) fits(v any) bool {
	if p == anything {
		return true
	}
	switch v := v.(type) {
	case nil:
		return p.is("null")
	case bool:
		return p.is("boolean")
	case string:
		return p.is("string") && (p.enum == nil || slices.Contains(p.enum, any(v)))
	case float64:
		return p.is("number") && !math.IsInf(v, 0) && !math.IsNaN(v) ||
			p.kind == "integer" && math.Abs(v) < 1<<53 && v == math.Trunc(v)
	case []any:
		return p.is("array") && !slices.ContainsFunc(v, func(item any) bool { return !p.items.fits(item) })
	case map[string]any:
		return p.is("object") && p.fitsObject(v)
	}
	return false
}

func (p *plain) is(kind string) bool { return p.kind == "" || p.kind == kind }

func (p *plain) fitsObject(members map[string]any) bool {
	for _, name := range p.required {
		if _, has := members[name]; !has {
			return false
		}
	}
	for name, value := range members {
		property := p.properties[name]
		if property == nil {
			property = p.others
		}
		if property == nil || !property.fits(value) {
			return false
		}
	}
	return true
}
