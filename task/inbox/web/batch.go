package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"a2a-server/client"
	"a2a-server/task/inbox/api"
)

// batchPage lists the calls of several approvals to decide together.
type batchPage struct {
	Items   []batchItem
	Gate    string
	Refused []batchItem // why some cannot be decided here
	Mixed   bool        // they are of several gates
	Same    string      // which of them are the same call; "": none
	Open    bool        // the caller has selected them on these pages
}

// A person reads this many calls with this many bytes of arguments and hints before a single
// button, and decides others one by one. The API takes more: a program does not read.
const maxTogether, maxTogetherBytes = 20, 64 << 10

type batchItem struct {
	row
	Words   []run // of the tool or gate, all of them
	Why     string
	Without string // address of the list without it; "": it is alone
	Result  badge
	Ran     string
}

// unreadRow is the row of an approval that cannot be read.
func unreadRow(id string) row {
	return row{Approval: &client.Approval{ID: id}, Short: short(id), Title: title{Lead: runs(short(id))}}
}

func showBatch(v *visit) error {
	ids := v.r.URL.Query()["id"]
	switch {
	case len(ids) == 0:
		return invalid(http.StatusBadRequest, "Nothing is selected", "go back to the inbox, and select the approvals to decide together")
	case len(ids) > api.MaxBatch:
		return invalid(http.StatusBadRequest, "Too many are selected", fmt.Sprintf("at most %d can be decided together", api.MaxBatch))
	}
	p := batchPage{Open: v.sameOrigin}
	gates, bytes := map[string]bool{}, 0
	for _, id := range ids {
		d, err := v.detail(id)
		if err != nil {
			p.Refused = append(p.Refused, batchItem{row: unreadRow(id), Why: v.problem(err, id).Detail})
			continue
		}
		one := batchItem{row: v.rowOf(&d.Approval), Words: lines(d.Approval.Words)}
		switch a := &d.Approval; {
		case a.State != client.Pending:
			one.Why = fmt.Sprintf("%s already, by %s", one.State.Word, one.By)
		case !d.May.Decide:
			one.Why = v.whyNot(&d.Approval)
		case !together(a):
			one.Why = "it is destructive or of high risk, or asks something else: decide it on its own page"
		case len(p.Items) == maxTogether:
			one.Why = fmt.Sprintf("at most %d are decided together: decide it on its own page", maxTogether)
		case bytes+bytesOf(a) > maxTogetherBytes:
			one.Why = fmt.Sprintf("at most %s are decided together: decide it on its own page", size(maxTogetherBytes))
		}
		if one.Why != "" {
			p.Refused = append(p.Refused, one)
			continue
		}
		bytes += bytesOf(&d.Approval)
		gates[one.Gate], p.Gate = true, one.Gate
		p.Items = append(p.Items, one)
	}
	for i := range p.Items {
		without := url.Values{}
		for n := range p.Items {
			if n != i {
				without.Add("id", p.Items[n].ID)
			}
		}
		if len(without) > 0 {
			p.Items[i].Without = v.link("/batch?" + without.Encode())
		}
	}
	p.Mixed, p.Same = len(gates) > 1, sameCalls(p.Items)
	return v.show(http.StatusOK, "batch", fmt.Sprintf("Decide %d together", len(p.Items)), "", p)
}

// sameCalls says how many of the calls are the same, for each call that is there more than once.
func sameCalls(items []batchItem) string {
	count := map[[2]string]int{}
	for i := range items {
		count[[2]string{items[i].Tool, items[i].Digest}]++
	}
	var groups []string
	for i := range items {
		call := [2]string{items[i].Tool, items[i].Digest}
		if n := count[call]; n > 1 && items[i].Digest != "" {
			groups = append(groups, strconv.Itoa(n))
		}
		delete(count, call)
	}
	switch {
	case len(groups) == 0:
		return ""
	case len(groups) == 1:
		return fmt.Sprintf("%s of these %d are the same call", groups[0], len(items))
	}
	return fmt.Sprintf("Of these %d, %s are the same calls", len(items), strings.Join(groups, " and "))
}

// bytesOf returns how much a person reads about a call.
func bytesOf(a *client.Approval) int { return len(a.Arguments) + len(a.Words) }

func decideBatch(v *visit) error {
	f := v.r.PostForm
	ids, digests := f["id"], f["digest"]
	decision := client.DecisionType(f.Get("decision"))
	if len(ids) == 0 || len(ids) != len(digests) || decision != client.Approve && decision != client.Reject {
		return invalid(http.StatusBadRequest, "The form cannot be read", "go back to the inbox, and select the approvals to decide together")
	}
	list := make([]client.BatchDecision, len(ids))
	gates, bytes := map[string]bool{}, 0
	for i, id := range ids {
		list[i] = client.BatchDecision{ID: id, Decision: client.Decision{Decision: decision, Digest: digests[i], Reason: reason(f)}}
		d, err := v.detail(id)
		if err != nil {
			continue // its result says why
		}
		bytes += bytesOf(&d.Approval)
		if gates[d.Approval.Gate] = true; len(ids) > maxTogether || bytes > maxTogetherBytes || len(gates) > 1 || d.Approval.State == client.Pending && d.May.Decide && !together(&d.Approval) {
			return invalid(http.StatusUnprocessableEntity, "Nothing was decided", fmt.Sprintf("only calls of one gate that are neither destructive nor of high risk are decided together, at most %d with %s: decide the rest on their own pages", maxTogether, size(maxTogetherBytes)))
		}
	}
	results, err := v.cfg.Service.DecideAll(v.ctx(), v.Caller, list)
	if err != nil {
		return err
	}
	shown := url.Values{}
	for i := range results {
		refused := ""
		if results[i].Error != nil {
			refused = results[i].Error.Reason
		}
		shown.Add("id", results[i].ID)
		shown.Add("refused", refused)
	}
	return v.seeOther("/batch/results?" + shown.Encode())
}

// showResults lists the outcomes of calls that were decided together. Its address names them, with the
// reason why a decision was refused; the states are those of the approvals.
func showResults(v *visit) error {
	q := v.r.URL.Query()
	ids, refused := q["id"], q["refused"]
	if len(ids) == 0 || len(ids) > api.MaxBatch || len(ids) != len(refused) {
		return notFound("this address names no decisions: look for them in the history")
	}
	var p batchPage
	for i, id := range ids {
		one := batchItem{row: unreadRow(id)}
		d, err := v.detail(id)
		if err != nil {
			one.Why = v.problem(err, id).Detail
		} else {
			one.row = v.rowOf(&d.Approval)
			one.Ran, _ = ran(d.Run)
			one.Why = v.notCounted(refused[i], &d.Approval)
		}
		if one.Result = one.State; one.Why != "" {
			one.Result = badge{"fail", "Not decided"}
		}
		p.Items = append(p.Items, one)
	}
	return v.show(http.StatusOK, "results", "Results", "", p)
}

// notCounted says why a decision of an approval was refused; "": it was not.
func (v *visit) notCounted(reason string, a *client.Approval) string {
	switch {
	case reason == "":
		return ""
	case a.State != client.Pending && a.Resolution == nil:
		return strings.ToLower(string(a.State)) + " before your decision arrived"
	case a.State != client.Pending:
		return fmt.Sprintf("%s by %s before your decision arrived", strings.ToLower(string(a.State)), v.by(a.Resolution.By))
	case reason == client.ReasonChanged:
		return "it has changed since you read it: read it again, then decide"
	case a.May != nil && !a.May.Decide:
		return v.whyNot(a)
	}
	return "it was refused, and still waits: open it, and decide it there"
}
