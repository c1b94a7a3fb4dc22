package config

import (
	"time"

	"a2a-server/approval"
	"a2a-server/internal/setting"
	"a2a-server/internal/strictyaml"
)

// Grants are the settings of all grants.
type Grants struct {
	SeenWithin time.Duration // after which somebody who has not been seen has left: their grants cover nothing
}

// grantsKey returns the key grants of a gate.
func grantsKey(to **approval.GrantTerms) key {
	k := shaped("grants", "{scopes: [task, context, time], max: 8h, uses: 50, vary: [/subject]}", to, grantsOf,
		"What an approve may allow later calls: those of its task, its context or any of the requester, for max (24h) and uses, that differ in vary at most. Default: nothing.")
	k.texts = func() []string { return []string{grantsText(*to)} }
	return k
}

// grantsOf reads the key grants.
func grantsOf(l *loader, n strictyaml.Node) *approval.GrantTerms {
	t := &approval.GrantTerms{}
	l.mapping(n, []key{
		required(many("scopes", "", &t.Scopes, aScope, "")), one("max", "", setting.Duration(&t.Max, time.Minute), ""),
		one("uses", "", setting.Count(&t.Uses, 1, approval.MaxGrantUses), ""), many("vary", "", &t.Vary, pointerOf(approval.CheckVary), ""),
	}, "", "a mapping with scopes, max, uses and vary", "")
	if t.Max > approval.MaxGrantTime {
		n.Add("max is %v; a grant is for at most %v", t.Max, approval.MaxGrantTime)
	}
	return t
}

// aScope is a scope of grants.
func aScope(to *approval.GrantScope) setting.Value {
	return setting.Choice(to, "a scope of grants", approval.GrantScopes()...)
}

// pointerOf returns the value of a JSON pointer with a check of its own.
func pointerOf(check func(string) error) func(*string) setting.Value {
	return func(to *string) setting.Value { return setting.Text(to, "a JSON pointer", saying(check)) }
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
