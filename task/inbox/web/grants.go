package web

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"a2a-server/approval"
	"a2a-server/client"
)

// grantsPage lists the grants that the caller may see.
type grantsPage struct {
	Grants []grant
	Next   string
	Reach  string // which rows the caller may see, where the list could mislead
}

type grant struct {
	Words, Owner, By string
	Approval, Link   string // addresses
	Until            stamp
}

func showGrants(v *visit) error {
	q := v.r.URL.Query()
	page, err := v.cfg.Service.Grants(v.ctx(), v.Caller, client.GrantQuery{Cursor: q.Get("cursor")})
	if err != nil {
		return err
	}
	p := grantsPage{Reach: page.Reach.NoteFor(len(page.Items))}
	for i := range page.Items {
		g := &page.Items[i]
		p.Grants = append(p.Grants, grant{
			Words: g.Words, Owner: g.Owner.Subject, By: v.by(&g.By), Until: v.ago(g.Until),
			Approval: v.link("/approvals/" + url.PathEscape(g.Approval)), Link: v.link("/grants/" + url.PathEscape(g.ID)),
		})
	}
	if page.Next != "" {
		p.Next = address(q, "cursor", page.Next)
	}
	return v.show(http.StatusOK, "grants", "Grants", "", p)
}

func revokeGrant(v *visit) error {
	if err := v.cfg.Service.RevokeGrant(v.ctx(), v.Caller, v.r.PathValue("id"), ""); err != nil {
		return err
	}
	return v.seeOther("/grants")
}

// grantChoices are the grants that a person may pick with an approve; nil: there are none.
func grantChoices(t *client.GrantTerms) []choice {
	if t == nil {
		return nil
	}
	alike := "the same calls"
	if len(t.Vary) > 0 {
		alike = "calls that differ only in " + strings.Join(t.Vary, ", ")
	}
	all := []choice{{"", "This call only", true}}
	for _, scope := range t.Scopes {
		switch scope {
		case "task", "context":
			all = append(all, choice{scope, "Also " + alike + " in this " + scope + ", for " + bounds(t), false})
		case "time":
			if longest(t) > time.Hour {
				all = append(all, choice{"3600", "Also " + alike + " in the next hour" + uses(t), false})
			}
			all = append(all, choice{strconv.FormatInt(t.Seconds, 10), "Also " + alike + " for " + bounds(t), false})
		}
	}
	return all
}

// bounds says how long and how often a grant lets calls start, such as "24h, up to 50 times".
func bounds(t *client.GrantTerms) string { return approval.Span(longest(t)) + uses(t) }

func longest(t *client.GrantTerms) time.Duration { return time.Duration(t.Seconds) * time.Second }

// uses says how often a grant lets calls start; "": any number.
func uses(t *client.GrantTerms) string {
	if t.Uses == 0 {
		return ""
	}
	return ", up to " + count(t.Uses, "time")
}

// grantOf returns the picked grant, nil for none.
func grantOf(f url.Values) *client.GrantRequest {
	if slices.Contains(f["grant"], "ask_once") { // a button, whatever is picked beside it
		return client.AskOnce()
	}
	picked := f.Get("grant")
	if seconds, err := strconv.ParseInt(picked, 10, 64); err == nil {
		return &client.GrantRequest{Scope: "time", Seconds: seconds}
	}
	if picked == "" {
		return nil
	}
	return &client.GrantRequest{Scope: picked}
}
