package api_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"a2a-server/client"
	"a2a-server/task/inbox/api"
)

// What is wrong with a request is a problem that says so, and changes nothing.
func TestBadInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.ask(alice, "/ship amount=1")[0]
	path := decisionOf(one)
	digest := `"digest":"` + one.Digest + `"`
	deep := strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000)
	for name, tc := range map[string]struct {
		path, body string
		status     int
	}{
		"no body":                    {path, "", 400},
		"no JSON":                    {path, "approve", 400},
		"a list":                     {path, "[]", 400},
		"null":                       {path, "null", 400},
		"half an object":             {path, `{"decision":"approve",`, 400},
		"two objects":                {path, `{"decision":"approve",` + digest + `}{}`, 400},
		"unknown member":             {path, `{"decision":"approve",` + digest + `,"grant":true}`, 400},
		"a name in another case":     {path, `{"Decision":"approve",` + digest + `}`, 400},
		"a name twice":               {path, `{"decision":"reject","decision":"approve",` + digest + `}`, 400},
		"wrong type":                 {path, `{"decision":["approve"],` + digest + `}`, 400},
		"wrong type of the reason":   {path, `{"decision":"reject","reason":1,` + digest + `}`, 400},
		"null for the decision":      {path, `{"decision":null,` + digest + `}`, 400},
		"invalid UTF-8":              {path, `{"decision":"reject","reason":"` + "\xff" + `",` + digest + `}`, 400},
		"half a surrogate":           {path, `{"decision":"reject","reason":"\ud800",` + digest + `}`, 400},
		"deep":                       {path, `{"decision":"edit","arguments":` + deep + `,` + digest + `}`, 400},
		"arguments of another type":  {path, `{"decision":"edit","arguments":[1],` + digest + `}`, 400},
		"arguments null":             {path, `{"decision":"edit","arguments":null,` + digest + `}`, 400},
		"large arguments":            {path, `{"decision":"edit","arguments":{"amount":1,"iban":"` + strings.Repeat("x", 200<<10) + `"},` + digest + `}`, 400},
		"long reason":                {path, `{"decision":"reject","reason":"` + strings.Repeat("x", 5000) + `",` + digest + `}`, 400},
		"a MiB":                      {path, `{"decision":"reject","reason":"` + strings.Repeat("x", 1<<20) + `",` + digest + `}`, 0},
		"a time that is none":        {"/approvals/" + one.ID + "/extension", `{` + digest + `,"until":"tomorrow"}`, 400},
		"a time as a number":         {"/approvals/" + one.ID + "/extension", `{` + digest + `,"until":1}`, 400},
		"a year of five digits":      {"/approvals/" + one.ID + "/extension", `{` + digest + `,"until":"10000-01-01T00:00:00Z"}`, 400},
		"unknown parameter":          {path + "?force=true", `{"decision":"approve",` + digest + `}`, 400},
		"items of another type":      {"/decisions", `{"items":{}}`, 400},
		"an item that is a text":     {"/decisions", `{"items":["x"]}`, 400},
		"an unknown member deep":     {"/decisions", `{"items":[{"id":"` + one.ID + `","decision":"approve",` + digest + `,"x":1}]}`, 400},
		"an unknown path":            {"/approve", `{}`, 404},
		"something below a decision": {path + "/x", `{}`, 404},
	} {
		got := w.post(olga, tc.path, tc.body)
		if tc.status == 0 && (got.status == 400 || got.status == 413) {
			tc.status = got.status
		}
		e := into[client.Error](got.want(tc.status))
		if e.Reason == "" || e.Detail == "" || len(got.raw) > 16<<10 {
			t.Errorf("%s: %s", name, got.raw)
		}
	}
	for _, contentType := range []string{"", "text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1"} {
		r := w.request(olga, http.MethodPost, path, `{"decision":"approve",`+digest+`}`)
		r.Header.Set("Content-Type", contentType)
		w.do(r).problem(415, client.ReasonInvalid)
	}
	for _, method := range []string{http.MethodPut, http.MethodDelete, http.MethodPatch, "GRANT"} {
		got := w.do(w.request(olga, method, path, nil))
		if got.problem(405, client.ReasonInvalid); got.header.Get("Allow") != "POST" {
			t.Errorf("%s: Allow: %s", method, got.header.Get("Allow"))
		}
	}
	if s := w.state(one.ID); s != client.Pending {
		t.Errorf("the approval is %s", s)
	}
}

// An id of any shape is unknown.
func TestIDs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.ask(alice, "/ship amount=1")[0]
	for _, id := range []string{
		"x", ".", "..", one.ID + "0", one.Task, one.Task + ".", "." + one.Task, one.ID + ".a1", strings.ToUpper(one.ID), one.Task + ".a\x00", one.Task + "." + strings.Repeat("a", 5000),
		strings.Repeat("x", 5000), "\xff\xfe", "a/b", "%", "ä", "\u202e", "<script>", one.Task + ".a99999999999999999999", "'", " ", one.ID + " ", "\r\n",
	} {
		at := url.PathEscape(id)
		if id == "." || id == ".." {
			at = strings.ReplaceAll(id, ".", "%2E")
		}
		for _, tc := range []struct {
			method, path string
			body         any
		}{
			{"GET", "/approvals/" + at, nil},
			{"POST", "/approvals/" + at + "/decision", approve(one)},
			{"POST", "/approvals/" + at + "/extension", client.Extension{Digest: one.Digest, Until: one.Deadline.AddDate(0, 0, 1)}},
			{"POST", "/decisions", map[string]any{"items": []any{map[string]any{"id": id, "decision": "approve", "digest": one.Digest}}}},
			{"GET", "/tasks/" + at, nil},
			{"POST", "/tasks/" + at + "/cancel", nil},
			{"POST", "/tasks/" + one.Task + "/calls/" + at + "/cancel", nil},
			{"DELETE", "/tasks/" + at, nil},
			{"GET", "/tasks/" + at + "/events", nil},
			{"DELETE", "/tasks/" + at + "/webhooks/" + at, nil},
			{"GET", "/approvals?task=" + url.QueryEscape(id), nil},
			{"GET", "/approvals?cursor=" + url.QueryEscape(id), nil},
			{"GET", "/tasks?cursor=" + url.QueryEscape(id), nil},
		} {
			by := mallory // has every role, elsewhere
			if strings.Contains(tc.path, "/calls/") {
				by = pete
			}
			r := w.request(by, tc.method, tc.path, tc.body)
			got := w.do(r)
			switch {
			case got.status == 200 && tc.path == "/decisions":
				if item := into[struct{ Items []client.BatchResult }](got).Items[0]; item.Status != 404 {
					t.Errorf("%q decides: %d", id, item.Status)
				}
			case got.status == 404 || got.status == 400:
				var e client.Error
				if err := json.Unmarshal(got.raw, &e); err != nil || e.Reason == "" {
					t.Errorf("%s %s: %s", tc.method, tc.path, got.raw)
				}
			case got.status/100 == 3 && strings.Contains(at, "%2E"): // a path is cleaned first
			case got.status == 200 && strings.Contains(tc.path, "?task="), got.status == 200 && strings.HasPrefix(tc.path, "/tasks?"):
				if strings.Contains(string(got.raw), one.ID) {
					t.Errorf("%q lists somebody else's", id)
				}
			default:
				t.Errorf("%s %.100s: %d %.300s", tc.method, tc.path, got.status, got.raw)
			}
		}
	}
}

// A page of another site can neither read nor decide anything.
func TestOtherSites(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.ask(alice, "/ship amount=1")[0]
	for name, headers := range map[string]map[string]string{
		"origin":                {"Origin": "https://evil.example"},
		"null":                  {"Origin": "null"},
		"site":                  {"Sec-Fetch-Site": "cross-site"},
		"both":                  {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
		"a sibling":             {"Origin": "https://x.127.0.0.1.example", "Sec-Fetch-Site": "same-site"},
		"same site, no origin":  {"Sec-Fetch-Site": "same-site"},
		"another port, as form": {"Origin": "http://127.0.0.1:1", "Content-Type": "text/plain"},
	} {
		r := w.request(olga, http.MethodPost, decisionOf(one), approve(one))
		for h, v := range headers {
			r.Header.Set(h, v)
		}
		if got := w.do(r); got.status != http.StatusForbidden {
			t.Errorf("%s: %d", name, got.status)
		}
	}
	if s := w.state(one.ID); s != client.Pending {
		t.Errorf("the approval is %s", s)
	}
}

// The document is served to everybody.
func TestDocumentIsServed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if got := w.get(nobody, "/openapi.json").want(200); string(got.raw) != string(api.Document()) || got.header.Get("Content-Type") != "application/json" {
		t.Errorf("%s: %.100s", got.header.Get("Content-Type"), got.raw)
	}
}
