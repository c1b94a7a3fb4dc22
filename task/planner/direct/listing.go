package direct

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/internal/lists"
	"a2a-server/tool"
)

// listing returns the parts of the answer to a message that is not run: text for people,
// and the tools as data for programs.
func (p *Planner) listing(tools []tool.Tool, problems []string) a2a.ContentParts {
	var b strings.Builder
	if len(problems) > 0 {
		b.WriteString("Nothing was run:\n")
		for _, problem := range problems {
			fmt.Fprintf(&b, "- %s\n", problem)
		}
		b.WriteString("\n")
	}
	if len(tools) == 0 {
		b.WriteString("There are no tools that you may call.")
		return a2a.ContentParts{a2a.NewTextPart(b.String())}
	}

	b.WriteString("Tools that you may call:\n")
	entries := make([]any, 0, len(tools))
	for _, t := range tools {
		d, approval := tool.ToDefinition(t), p.approval(t)
		describe(&b, d, approval)
		entry := map[string]any{"name": d.Name, "description": d.Description, "requires_approval": approval}
		if d.Parameters != nil {
			entry["parameters"] = d.Parameters
		}
		entries = append(entries, entry)
	}
	b.WriteString(`
No language model reads plain words here. Name the tool in the message, in one of these ways:
- text: /tool key=value key2="quoted value"
- text: /tool {"key": "value"}
- text, when exactly one argument is required and it is a string: /tool the rest of the text
- a data part: {"tool": "name", "args": {…}}, or {"calls": [{"tool": "name", "args": {…}}, …]}
- a data part with the metadata {"adk_type": "function_call"}: {"id": "…", "name": "name", "args": {…}}
`)
	return a2a.ContentParts{a2a.NewTextPart(b.String()), a2a.NewDataPart(map[string]any{"tools": entries})}
}

// describe writes a tool: a line for itself, and a line for each argument.
func describe(b *strings.Builder, d tool.Definition, approval bool) {
	fmt.Fprintf(b, "- %s", d.Name)
	if approval {
		b.WriteString(" (each call has to be approved)")
	}
	if d.Description != "" {
		fmt.Fprintf(b, ": %s", oneLine(d.Description))
	}
	b.WriteString("\n")
	sig := signatureOf(d.Parameters)
	for _, name := range sig.names() {
		property := sig.property(name)
		notes := []string{}
		if types := lists.Strings(property["type"]); len(types) > 0 {
			notes = append(notes, strings.Join(types, " or "))
		}
		if enum, err := json.Marshal(property["enum"]); err == nil && property["enum"] != nil {
			notes = append(notes, "one of "+string(enum))
		}
		if slices.Contains(sig.required, name) {
			notes = append(notes, "required")
		}
		fmt.Fprintf(b, "    %s", name)
		if len(notes) > 0 {
			fmt.Fprintf(b, " (%s)", strings.Join(notes, ", "))
		}
		if text, ok := property["description"].(string); ok && text != "" {
			fmt.Fprintf(b, ": %s", oneLine(text))
		}
		b.WriteString("\n")
	}
}

// oneLine keeps a description that has several lines from looking like several
// tools.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
