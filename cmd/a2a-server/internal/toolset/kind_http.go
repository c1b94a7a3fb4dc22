package toolset

import (
	"slices"
	"strings"

	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/internal/strictjson"
	"a2a-server/tool/httptool"
)

// buildHTTP makes the tool of an entry.
func buildHTTP(w *maker, e *entry) (key string, err error) {
	c := &e.config
	client, err := w.httpClient(c)
	if err != nil {
		return "networks", err
	}
	method, url, _ := strings.Cut(c.Request, " ")
	t, err := httptool.New(httptool.Config{
		Name: c.Name, Description: c.Description, Method: method, URL: url, Header: c.Header, JSON: strictjson.Clone(c.Body), Form: c.Form,
		Parameters: parameters(c), Secrets: w.secrets.named,
		Result: c.Result, Approve: w.approval(c), Timeout: c.Timeout, Client: client,
	})
	return e.single("request", t, err)
}

// httpClient returns the client of an entry, which may reach its networks.
func (w *maker) httpClient(c *config.Tool) (*httptool.Client, error) {
	return httptool.NewClient(httptool.ClientConfig{Allow: c.Networks, Own: w.Own, Log: w.Log})
}

// parameters returns the JSON Schema of the arguments of an entry; nil: it has none.
func parameters(c *config.Tool) map[string]any {
	if c.Args == nil {
		return nil
	}
	required := []any{}
	properties := map[string]any{}
	for _, name := range sorted(c.Args) {
		properties[name] = c.Args[name]
		if !slices.Contains(c.Optional, name) {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}
