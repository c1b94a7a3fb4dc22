package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"a2a-server/client"
	"a2a-server/internal/failure"
	"a2a-server/internal/golden"
)

//go:generate go test -count=1 -run ^TestDocumentIsOfTheTypes$ . -update

type schema struct {
	Ref        string            `json:"$ref"`
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
	Items      *schema           `json:"items"`
	Closed     any               `json:"additionalProperties"`
	Enum       []string          `json:"enum"`
}

type documented struct {
	Servers []struct{ URL string }
	Paths   map[string]map[string]json.RawMessage

	Components struct {
		Parameters map[string]parameter
		Schemas    map[string]json.RawMessage
	}
}

type parameter struct {
	Ref      string `json:"$ref"`
	Name, In string
}

func readDocument(t *testing.T) (d documented) {
	t.Helper()
	if err := json.Unmarshal(document, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *documented) schema(t *testing.T, name string) (s schema) {
	t.Helper()
	raw := d.Components.Schemas[name]
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatalf("schema %s: %v", name, err)
	}
	return s
}

func last(ref string) string { return ref[strings.LastIndex(ref, "/")+1:] }

// The document has the paths, methods, parameters and bodies that are served, and no others.
func TestDocumentIsOfTheOperations(t *testing.T) {
	t.Parallel()
	d := readDocument(t)
	if d.Servers[0].URL != Path {
		t.Errorf("the server is %s", d.Servers[0].URL)
	}
	ops := operations()
	seen := map[string]bool{}
	for path, methods := range d.Paths {
		var shared []parameter
		if raw := methods["parameters"]; raw != nil {
			if err := json.Unmarshal(raw, &shared); err != nil {
				t.Fatal(err)
			}
		}
		for method, raw := range methods {
			if method == "parameters" {
				continue
			}
			pattern := strings.ToUpper(method) + " " + path
			op, served := ops[pattern]
			if !served {
				t.Errorf("%s is not served", pattern)
				continue
			}
			seen[pattern] = true
			var of struct {
				OperationID string
				Parameters  []parameter
				RequestBody *struct {
					Content map[string]struct{ Schema schema }
				}
				Responses map[string]json.RawMessage
			}
			if err := json.Unmarshal(raw, &of); err != nil {
				t.Fatal(err)
			}
			in := map[string][]string{}
			for _, p := range append(shared, of.Parameters...) {
				if p.Ref != "" {
					p = d.Components.Parameters[last(p.Ref)]
				}
				in[p.In] = append(in[p.In], p.Name)
			}
			want := append([]string{"anonymous"}, op.params...)
			slices.Sort(want)
			if slices.Sort(in["query"]); !slices.Equal(in["query"], want) {
				t.Errorf("%s has the parameters %v, want %v", pattern, in["query"], want)
			}
			for _, name := range in["path"] {
				if !strings.Contains(path, "{"+name+"}") {
					t.Errorf("%s has no %s", pattern, name)
				}
			}
			if len(in["path"]) != strings.Count(path, "{") || (len(in["header"]) > 0) != (op.stream != nil || op.tagged) {
				t.Errorf("%s has the parameters %v", pattern, in)
			}
			var described []string
			if of.RequestBody != nil {
				body := d.schema(t, last(of.RequestBody.Content["application/json"].Schema.Ref))
				described = slices.Sorted(maps.Keys(body.Properties))
				if body.Closed != false {
					t.Errorf("%s accepts any member", pattern)
				}
			}
			var known []string
			if op.body != nil {
				known, _ = members(op.body)
				slices.Sort(known)
			}
			if !slices.Equal(described, known) {
				t.Errorf("the body of %s has %v, want %v", pattern, described, known)
			}
			if of.Responses["200"] == nil || of.Responses["401"] == nil || of.OperationID == "" {
				t.Errorf("%s has the responses %v", pattern, slices.Collect(maps.Keys(of.Responses)))
			}
		}
	}
	for pattern := range ops {
		if !seen[pattern] {
			t.Errorf("%s is not in the document", pattern)
		}
	}
}

// members returns the names in the JSON of a struct, and those that are always there.
func members(of reflect.Type) (all, required []string) {
	for i := range of.NumField() {
		f := of.Field(i)
		if f.Anonymous {
			more, always := members(f.Type)
			all, required = append(all, more...), append(required, always...)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if all = append(all, name); options == "" {
			required = append(required, name)
		}
	}
	return all, required
}

// The schemas have the members of package client, and require those that are always there.
func TestDocumentIsOfTheTypes(t *testing.T) {
	t.Parallel()
	d := readDocument(t)
	checked := map[string]bool{"Empty": true, "Problem": true, "ApproverGroup": true}
	for _, v := range []any{
		client.Principal{}, client.Approval{}, client.Approvers{}, client.Resolution{}, client.Votes{}, client.Vote{}, client.Need{}, client.ApprovalDetail{}, client.AskedGate{}, client.May{}, client.Message{}, client.Call{}, client.Reach{}, client.ApprovalPage{},
		client.Decision{}, client.BatchDecision{}, client.Batch{}, client.BatchResults{}, client.Deleted{}, client.Decided{}, client.BatchResult{}, client.Extension{}, client.Anew{}, client.GrantTerms{}, client.GrantRequest{}, client.Grant{}, client.GrantPage{}, client.Task{}, client.TaskPage{}, client.TaskDetail{}, client.TaskMay{},
		client.Webhook{}, client.WebhookPage{}, client.Notification{}, client.NotificationPage{}, client.AuditEntry{}, client.AuditPage{}, client.WhoAmI{}, client.Error{}, client.FieldError{},
	} {
		of := reflect.TypeOf(v)
		checked[of.Name()] = true
		all, required := members(of)
		s := d.schema(t, of.Name())
		if diff := cmp.Diff(slices.Sorted(slices.Values(all)), slices.Sorted(maps.Keys(s.Properties))); diff != "" {
			t.Errorf("the members of %s in openapi.json, which are written by hand (-want +got):\n%s", of.Name(), diff)
		}
		if diff := cmp.Diff(slices.Sorted(slices.Values(required)), slices.Sorted(slices.Values(s.Required))); diff != "" {
			t.Errorf("the required members of %s in openapi.json (-want +got):\n%s", of.Name(), diff)
		}
	}
	for name, raw := range d.Components.Schemas {
		var s schema
		if err := json.Unmarshal(raw, &s); err != nil {
			t.Fatal(err)
		}
		if len(s.Properties) > 0 && !checked[name] {
			t.Errorf("%s is of no type", name)
		}
	}
	reasons := d.schema(t, "Reason").Enum
	slices.Sort(reasons)
	var table strings.Builder
	table.WriteString("| reason | HTTP | when | next step |\n|---|---|---|---|\n")
	var listed []string
	for _, c := range cases() {
		listed = append(listed, c.Reason)
		if c.Title == "" || problem(http.StatusBadRequest, c.Reason, "").Title != c.Title {
			t.Errorf("%s has no title", c.Reason)
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", c.Reason, strings.Trim(strings.ReplaceAll(fmt.Sprint(c.Statuses), " ", ", "), "[]"), c.When, c.Next)
	}
	golden.Section(t, filepath.Join("..", "..", "..", "docs", "errors.md"), "api errors", table.String())
	if slices.Sort(listed); !slices.Equal(listed, reasons) {
		t.Errorf("the cases are %v, want %v", listed, reasons)
	}
	for kind := range failure.Kinds {
		row, has := ofKind[kind]
		if special := kind == failure.Refused || kind == failure.Decision; has == special || has && !slices.Contains(listed, row.reason) {
			t.Errorf("failure kind %d: reason %q, want one of the cases", kind, row.reason)
		}
	}
}
