package web

import (
	"net/http"
	"strings"

	"a2a-server/auth"
)

// A Rule is a gate with its name in approvals, as it is configured now.
type Rule struct {
	Name string
	Text string // as the configuration has it; lines may be comments. It has no secrets.
}

// maxRules is how many gates a page shows.
const maxRules = 200

// policyPage has the gates, and explains a call.
type policyPage struct {
	Rules                       []Rule
	More                        int // that are not shown
	Tool, Args                  string
	Subject, Tenant, Has, Chain string // of the caller
	Text, Wrong                 string // of the explanation
}

// seesPolicy reports whether a caller may read the gates of all tenants: an admin and, on a
// server without authentication, everybody.
func seesPolicy(v *visit) bool {
	return v.By.IsAnonymous() || v.By.May(auth.Admin) == nil
}

func readPolicy(v *visit) error {
	return showPolicy(v, http.StatusOK, &policyPage{Tool: v.r.URL.Query().Get("tool")})
}

// explainCall judges a call, without making it.
func explainCall(v *visit) error {
	f := v.r.PostForm
	p := &policyPage{Tool: strings.TrimSpace(f.Get("tool")), Args: f.Get("args"), Subject: f.Get("subject"), Tenant: f.Get("tenant"), Has: f.Get("roles"), Chain: f.Get("chain")}
	names := func(list string) []string {
		return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
	}
	by := auth.Trial(p.Subject, p.Tenant, names(p.Has), names(p.Chain))
	status := http.StatusOK
	if seesPolicy(v) {
		var err error
		if p.Text, err = v.cfg.Explain(v.ctx(), p.Tool, p.Args, by); err != nil {
			status, p.Wrong = http.StatusUnprocessableEntity, err.Error()
		}
	}
	return showPolicy(v, status, p)
}

func showPolicy(v *visit, status int, p *policyPage) error {
	if !seesPolicy(v) {
		return &auth.DeniedError{Action: auth.Admin}
	}
	p.Rules = v.cfg.Rules(p.Tool)
	if len(p.Rules) > maxRules {
		p.More, p.Rules = len(p.Rules)-maxRules, p.Rules[:maxRules]
	}
	return v.show(status, "policy", "Policy", "", p)
}
