package web

import "net/http"

// aboutPage is about the server.
type aboutPage struct {
	Tools                  []Tool
	Listed                 bool
	Card, Document, Ready  string
	Public, Health, Unwell string
	May                    []string
}

func showAbout(v *visit) error {
	at := v.cfg.Prefix
	p := aboutPage{Card: at + "/.well-known/agent-card.json", Document: at + "/api/v1/openapi.json", Ready: at + "/readyz", Public: v.cfg.PublicURL}
	if v.cfg.Tools != nil {
		p.Tools, p.Listed = v.cfg.Tools(v.ctx(), v.By), true
	}
	if v.cfg.Health != nil {
		p.Health = "ready"
		if err := v.cfg.Health(); err != nil {
			p.Health, p.Unwell = "not ready", err.Error()
		}
	}
	known := v.cfg.Service.WhoAmI(v.Caller)
	for _, one := range []struct{ action, words string }{{"create", "send messages"}, {"review", "see approvals"}, {"decide", "decide approvals"}, {"oversee", "see all tasks"}, {"cancel", "cancel tasks"}, {"delete", "delete tasks"}, {"admin", "administer"}} {
		if known.May[one.action] {
			p.May = append(p.May, one.words)
		}
	}
	return v.show(http.StatusOK, "about", "About", "", p)
}
