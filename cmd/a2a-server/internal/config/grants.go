package config

import (
	"a2a-server/approval"
	"a2a-server/internal/setting"
	"a2a-server/internal/strictyaml"
)

// grantsOf reads the key grants.
func grantsOf(l *loader, n strictyaml.Node) *approval.GrantTerms {
	t := &approval.GrantTerms{}
	l.mapping(n, keysOf(t), "", "a mapping with scopes, max, uses and vary", "")
	if t.Max > approval.MaxGrantTime {
		n.Add("max is %v; a grant is for at most %v", t.Max, approval.MaxGrantTime)
	}
	return t
}

// grantsText returns t as JSON that grantsOf reads.
func grantsText(t *approval.GrantTerms) string {
	if t == nil {
		return "null"
	}
	longest := ""
	if t.Max > 0 {
		longest = setting.Duration(&t.Max, 0).String()
	}
	return jsonText("grants", struct {
		Scopes []approval.GrantScope `json:"scopes"`
		Max    string                `json:"max,omitempty"`
		Uses   int                   `json:"uses,omitempty"`
		Vary   []string              `json:"vary,omitempty"`
	}{t.Scopes, longest, t.Uses, t.Vary})
}
