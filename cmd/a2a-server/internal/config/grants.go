package config

import (
	"a2a-server/approval"
	"a2a-server/internal/setting"
)

// grantsText returns t as JSON that the reader of grants reads.
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
