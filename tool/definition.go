package tool

// A Definition describes a tool to a language model.
type Definition struct {
	Name        string
	Description string
	Parameters  map[string]any // JSON Schema of the arguments, nil if there is none
	Claims      []string       // the claims of a [Claimant]; to be shown, not part of the digest
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
