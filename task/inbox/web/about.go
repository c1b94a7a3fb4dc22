package web

import (
	"bytes"
	"io/fs"
	"net/http"
	"path"
)

// aboutPage is about the server.
type aboutPage struct {
	Tools                 []Tool
	Card, Document, Ready string
	Public, Unwell        string // Unwell: why it is not ready; "": it is
	May                   []string
	Documents             []document
}

// document is a document of this version.
type document struct{ Title, File, Link string }

func showAbout(v *visit) error {
	at := v.cfg.Prefix
	p := aboutPage{Card: at + "/.well-known/agent-card.json", Document: at + "/api/v1/openapi.json", Ready: at + "/readyz", Public: v.cfg.PublicURL, Tools: v.cfg.Tools(v.ctx(), v.By)}
	if err := v.cfg.Health(); err != nil {
		p.Unwell = err.Error()
	}
	known := v.cfg.Service.WhoAmI(v.Caller)
	for _, one := range []struct{ action, words string }{{"create", "send messages"}, {"review", "see approvals"}, {"decide", "decide approvals"}, {"oversee", "see all tasks"}, {"cancel", "cancel tasks"}, {"delete", "delete tasks"}, {"admin", "administer"}} {
		if known.May[one.action] {
			p.May = append(p.May, one.words)
		}
	}
	names, _ := fs.Glob(v.cfg.Documents, "*.md") // the pattern is right
	for _, name := range names {
		text, err := fs.ReadFile(v.cfg.Documents, name)
		if err != nil {
			return err
		}
		heading, _, _ := bytes.Cut(bytes.TrimPrefix(text, []byte("# ")), []byte("\n"))
		p.Documents = append(p.Documents, document{string(heading), name, v.link("/docs/" + name)})
	}
	return v.show(http.StatusOK, "about", "About", "", p)
}

// showDocument answers with a document as it is written: Markdown is read without tools.
func showDocument(v *visit) error {
	name := v.r.PathValue("name")
	text, err := fs.ReadFile(v.cfg.Documents, name)
	if err != nil || path.Ext(name) != ".md" {
		return notFound("this server has no such document: About lists them")
	}
	secure(v.w, "")
	v.answer(v.w, v.r, http.StatusOK, "text/plain; charset=utf-8", text)
	return nil
}
