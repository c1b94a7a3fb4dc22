package toolset

import (
	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/internal/privatefile"
	"a2a-server/tool"
	"a2a-server/tool/openapitoolset"
)

// buildOpenAPI makes the tools of an entry.
func buildOpenAPI(w *maker, e *entry) (key string, err error) {
	c := &e.config
	if err := privatefile.CheckWriters(c.Spec); err != nil { // it says which requests are made
		return "spec", err
	}
	client, err := w.httpClient(c)
	if err != nil {
		return "networks", err
	}
	out := openapitoolset.Config{
		Name: e.name(), Prefix: c.Name + "_", Path: c.Spec, Server: c.Server, Only: c.Only, Header: c.Header, Timeout: c.Timeout, Client: client,
		Secrets: w.secrets.named, Approve: c.Approve,
	}
	exempts := c.Approve == nil && len(w.Operator.NoApproveTools) > 0
	if exempts {
		out.Approve = []string{}
	}
	if e.made, e.problems, err = openapitoolset.New(out); err != nil || !exempts {
		return "spec", err
	}
	// Tools that no_approve_tools names go without their default, and other tools keep it.
	tools, err := e.made.Tools(nil)
	if err != nil {
		return "spec", err
	}
	asks := map[string]bool{}
	for _, t := range tools {
		asks[t.Name()] = !tool.AnnotationsOf(t).ReadOnly && !config.Exempt(w.Operator, t.Name())
	}
	e.made = tool.WithConfirmation(e.made, tool.ConfirmMatching(func(name string) bool {
		ask, known := asks[name]
		return ask || !known
	}))
	return "", nil
}
