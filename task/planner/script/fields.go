package script

import "a2a-server/internal/strictyaml"

// entries reads a list that is not empty; what says of what.
func entries(n strictyaml.Node, what string) []strictyaml.Node {
	items, ok := n.Items("a list of "+what, "")
	if ok && len(items) == 0 {
		n.Add("the list is empty; write at least one entry")
	}
	return items
}

// texts reads a list of texts that is not empty.
func texts(n strictyaml.Node) []string {
	var all []string
	for _, e := range entries(n, "texts") {
		if t, ok := e.Text(); ok {
			all = append(all, t)
		}
	}
	return all
}

// required reads a text that must be there and not be empty.
func required(n strictyaml.Node) string {
	s, ok := n.Text()
	if ok && s == "" {
		n.Add("must not be empty")
	}
	return s
}

// optional reads a text that may be left out.
func optional(n strictyaml.Node) string {
	if n.Missing() {
		return ""
	}
	s, _ := n.Text()
	return s
}

// pointer is a text that may be empty; nil when it is left out.
func pointer(n strictyaml.Node) *string {
	if n.Missing() {
		return nil
	}
	s, _ := n.Text()
	return &s
}

// truth reads true or false; fallback when it is left out.
func truth(n strictyaml.Node, fallback bool) bool {
	if n.Missing() {
		return fallback
	}
	return n.Bool()
}
