package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"a2a-server/client"
	"a2a-server/internal/testserver"
	"a2a-server/store/memstore"
	"a2a-server/store/storetest"
)

// A list shows the beginning of large arguments, says so, and gives nothing by which they could be
// decided: the detail does. What it reads and answers does not grow with them, and its pages have each
// approval once.
func TestLargeArguments(t *testing.T) {
	t.Parallel()
	h, err := memstore.New().Handle()
	if err != nil {
		t.Fatal(err)
	}
	counted := &storetest.Counted{Handle: h}
	w := newWorld(t, func(c *testserver.Config) { c.Store = counted })
	large := strings.Repeat("ü", 50<<10)
	want := map[string]bool{}
	for i := range 44 {
		tool, iban := "ship", large
		if i%11 == 0 {
			tool = "pay" // masked, so that nothing large is left
		}
		args, err := json.Marshal(map[string]any{"amount": i, "iban": iban})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range w.As(alice).Pending(w.As(alice).Send("/" + tool + " " + string(args))) {
			want[a.ID] = true
		}
	}
	for _, query := range []string{"limit=200", "limit=200&order=deadline", "mine=true&limit=30", "tool=ship&order=deadline", "state=pending&gate=none"} {
		seen := map[string]bool{}
		for cursor, pages := "", 0; ; pages++ {
			counted.Values.Store(0)
			counted.Bytes.Store(0)
			answer := w.get(olga, "/approvals?"+query+"&cursor="+cursor)
			page := into[client.ApprovalPage](answer.want(200))
			if rows, bytes := counted.Values.Load(), counted.Bytes.Load(); rows > 60 || bytes > 5<<19 || len(answer.raw) > 1000+len(page.Items)*2000 {
				t.Errorf("%s: a page of %d reads %d rows and %d bytes, and has %d bytes", query, len(page.Items), rows, bytes, len(answer.raw))
			}
			for _, a := range page.Items {
				var shown struct {
					Amount float64 `json:"amount"`
					IBAN   string  `json:"iban"`
				}
				if err := json.Unmarshal(a.Arguments, &shown); err != nil || seen[a.ID] {
					t.Errorf("%s: %s again, or %v", query, a.ID, err)
				}
				seen[a.ID] = true
				switch {
				case a.Tool == "pay" && (a.Cut || shown.IBAN != "•••" || a.Digest == "" || a.May == nil):
					t.Errorf("%s: small arguments are %+v", query, a)
				case a.Tool == "ship" && (!a.Cut || a.Digest != "" || a.May != nil || !strings.HasPrefix(shown.IBAN, "üüü") || !strings.HasSuffix(shown.IBAN, fmt.Sprintf("ü… [%d bytes, cut]", len(large)+2))):
					t.Errorf("%s: large arguments are %+v", query, a)
				}
			}
			if cursor = page.Next; cursor == "" || pages > 20 {
				break
			}
		}
		n := map[bool]int{true: 40, false: 44}[strings.Contains(query, "tool=")]
		if strings.Contains(query, "none") {
			n = 0
		}
		if len(seen) != n {
			t.Errorf("%s has %d approvals, want %d", query, len(seen), n)
		}
	}
	page := into[client.ApprovalPage](w.get(vera, "/approvals?tool=ship&limit=1").want(200))
	if len(page.Items) != 1 || page.Items[0].May == nil || page.Items[0].May.Decide || page.Items[0].May.WhyNot == "" {
		t.Errorf("a viewer is not told why not: %+v", page.Items)
	}
	cut := page.Items[0]
	w.post(olga, decisionOf(cut), approve(cut)).problem(400, client.ReasonInvalid)
	whole := into[client.ApprovalDetail](w.get(olga, "/approvals/"+cut.ID).want(200)).Approval
	if whole.Cut || !strings.Contains(string(whole.Arguments), large) {
		t.Error("the detail is not whole")
	}
	w.post(olga, decisionOf(whole), approve(whole)).want(200)
}
