package config

import (
	"strings"
	"time"

	"a2a-server/approval"
	"a2a-server/internal/setting"
	"a2a-server/internal/strictyaml"
)

// grantsKey returns the key grants of a gate.
func grantsKey(to **approval.GrantTerms) key {
	k := shaped("grants", "{scopes: [task, context, time], max: 8h, uses: 50, vary: [/subject]}", to, grantsOf,
		"What an approve may allow later calls: those of its task, its context or any of the requester, for max (24h) and uses, that differ in vary at most. Default: nothing.")
	k.texts = func() []string {
		t := *to
		if t == nil {
			return []string{"null"}
		}
		var all []string
		for _, k := range grantKeys(t) {
			texts := k.texts()
			switch text := strings.Join(texts, ", "); {
			case k.list && len(texts) > 0:
				all = append(all, k.name+": ["+text+"]")
			case !k.list && text != k.fallback && text != "0" && text != "0s":
				all = append(all, k.name+": "+text)
			}
		}
		return []string{"{" + strings.Join(all, ", ") + "}"}
	}
	return k
}

// grantKeys returns the keys of grants.
func grantKeys(t *approval.GrantTerms) []key {
	return []key{
		required(many("scopes", "", &t.Scopes, func(to *approval.GrantScope) setting.Value {
			return setting.Choice(to, "a scope of grants", approval.GrantScopes()...)
		}, "")),
		one("max", "", setting.Duration(&t.Max, time.Minute), ""),
		one("uses", "", setting.Count(&t.Uses, 1, approval.MaxGrantUses), ""),
		many("vary", "", &t.Vary, func(to *string) setting.Value { return setting.Text(to, "a JSON pointer", saying(approval.CheckVary)) }, ""),
	}
}

// grantsOf reads the key grants.
func grantsOf(l *loader, n strictyaml.Node) *approval.GrantTerms {
	t := &approval.GrantTerms{}
	l.mapping(n, grantKeys(t), "", "a mapping with scopes, max, uses and vary", "")
	if t.Max > approval.MaxGrantTime {
		n.Add("max is %v; a grant is for at most %v", t.Max, approval.MaxGrantTime)
	}
	return t
}
