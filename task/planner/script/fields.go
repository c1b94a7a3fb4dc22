package script

import "a2a-server/internal/strictyaml"

// entries reads a list that must not be empty; what names its entries.
func entries(n strictyaml.Node, what string) []strictyaml.Node {
	items, ok := n.Items("a list of "+what, "")
	if ok && len(items) == 0 {
		n.Add("the list is empty; write at least one entry")
	}
	return items
}

// texts reads a list of strings that must not be empty.
func texts(n strictyaml.Node) []string {
	var all []string
	for _, e := range entries(n, "texts") {
		if t, ok := e.Text(); ok {
			all = append(all, t)
		}
	}
	return all
}

// required reads a string that must be present and not empty.
func required(n strictyaml.Node) string {
	s, ok := n.Text()
	if ok && s == "" {
		n.Add("must not be empty")
	}
	return s
}

// optional reads a string that may be left out.
func optional(n strictyaml.Node) string {
	if n.Missing() {
		return ""
	}
	s, _ := n.Text()
	return s
}

// pointer reads a string that may be empty; nil if it is left out.
func pointer(n strictyaml.Node) *string {
	if n.Missing() {
		return nil
	}
	s, _ := n.Text()
	return &s
}

// truth reads true or false; it returns fallback if it is left out.
func truth(n strictyaml.Node, fallback bool) bool {
	if n.Missing() {
		return fallback
	}
	return n.Bool()
}
