package config

import (
	"fmt"
	"strings"

	"a2a-server/internal/setting"
	"a2a-server/internal/strictyaml"
)

// KindHTTP is the kind of tools that send a request.
const KindHTTP Kind = "http"

// HTTPTool has the values of keys that only requests have.
type HTTPTool struct {
	Request string            // method, a space, and the template of a URL
	Body    any               // JSON whose strings are templates; nil: none
	Form    map[string]string // templates
	Result  string            // JSON Pointer
}

func httpKind() toolKind {
	return toolKind{
		name: KindHTTP,
		keys: func(t *Tool) []key {
			own := Own[HTTPTool](t)
			return []key{
				t.nameKey(KindHTTP, "Name of a tool that sends a request."),
				t.descriptionKey(),
				required(one("request", "", setting.Text(&own.Request, "METHOD URL", aRequest), "{name} is an argument of the call, as part of a segment of the path or of a value of the query.")),
				t.argsKey(),
				t.optionalKey(),
				t.headerKey(),
				shaped("body", "any value", &own.Body, bodyOf, "JSON that is sent, with placeholders."),
				shaped("form", "texts by name", &own.Form, formOf, "Fields of a form, instead of body."),
				one("result", "", setting.Text(&own.Result, "a JSON Pointer such as /items/0", aPointer), "Part of the answer that is the result. Default: all."),
				t.networksKey(),
				t.timeoutKey(),
				t.approveKey(),
			}
		},
		check: func(l *loader, t *Tool, n strictyaml.Node) {
			checkOptional(l, t.Optional, t.Args, n)
			l.template(n.Below("request"), Own[HTTPTool](t).Request, onlyHeaders)
			if in := n.Path() + "."; l.given(in+"body") && l.given(in+"form") {
				l.at(in+"form", "the request has a body, too; remove one of the two")
			}
		},
	}
}

var aMethod = matching(`^[A-Z]+$`, "%s is not a method; write it in capitals, as in POST")

// aPointer refuses what is not a JSON Pointer (RFC 6901).
func aPointer(text string) error {
	if text != "" && text[0] != '/' {
		return fmt.Errorf("%s is not a JSON Pointer; begin it with a slash, as in /items/0", quote(text))
	}
	for _, part := range strings.Split(text, "~")[1:] {
		if part == "" || part[0] != '0' && part[0] != '1' {
			return fmt.Errorf("%s is not a JSON Pointer; write ~0 for ~, and ~1 for a slash in a name", quote(text))
		}
	}
	return setting.OneLine(text)
}

// aRequest refuses what is not a method and a URL. The URL itself is checked where it is used.
func aRequest(text string) error {
	method, url, ok := strings.Cut(text, " ")
	switch {
	case !ok || strings.TrimSpace(url) != url || url == "":
		return fmt.Errorf("%s is not a method and a URL; write them with one space, as in POST https://jira.example.com/issue", quote(text))
	case aMethod(method) != nil:
		return aMethod(method)
	}
	return setting.OneLine(text)
}

func formOf(l *loader, n strictyaml.Node) map[string]string {
	return byName(n, "texts", `summary: "{summary}"`, anyName, func(n strictyaml.Node) string {
		text, _ := n.One()
		l.template(n, text, onlyHeaders)
		return text
	})
}

func bodyOf(l *loader, n strictyaml.Node) any {
	if n.Null() {
		n.Add("has no value; write what is sent, or remove the line")
		return nil
	}
	n.Quoted()
	v := n.JSON()
	checkInside(l, n, v)
	return v
}

// checkInside checks the references to secrets in all texts of v.
func checkInside(l *loader, n strictyaml.Node, v any) {
	switch v := v.(type) {
	case string:
		l.template(n, v, onlyHeaders)
	case []any:
		for _, item := range v {
			checkInside(l, n, item)
		}
	case map[string]any:
		for name, item := range v {
			l.template(n, name, onlyHeaders)
			checkInside(l, n, item)
		}
	}
}
