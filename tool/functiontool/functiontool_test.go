package functiontool_test

import (
	"encoding/json"
	"errors"
	"iter"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"a2a-server/tool"
	"a2a-server/tool/agent"
	"a2a-server/tool/functiontool"
)

type place struct {
	City string `json:"city"`
	Zone string `json:"zone" jsonschema:"default=UTC"`
}

type forecastArgs struct {
	Place  place     `json:"place"`
	Others []place   `json:"others,omitempty"`
	Unit   string    `json:"unit" jsonschema:"description=Scale,enum=celsius,enum=kelvin,default=celsius"`
	Days   int8      `json:"days,omitempty" jsonschema:"minimum=1"`
	At     time.Time `json:"at,omitzero"`
	Note   *string   `json:"note,omitempty" jsonschema_description:"Text, with commas"`
	Data   []byte    `json:"data,omitempty"`
}

type node struct {
	Kind     string `json:"kind" jsonschema:"default=leaf"`
	Name     string `json:"name"`
	Children []node `json:"children,omitempty"`
}

func returnsArgs[A any](_ tool.Context, a A) (A, error) { return a, nil }

// A tag without a keyword is the description; one in which text would be lost is an error.
func TestTags(t *testing.T) {
	t.Parallel()
	plain := functiontool.Must(functiontool.New(functiontool.Config{Name: "greet"}, returnsArgs[struct {
		Name string `json:"name" jsonschema:"the name, as written"`
		Age  int    `json:"age,omitempty" jsonschema:"required"`
		Unit string `json:"unit,omitempty" jsonschema:"required,enum=a,description=a\\, or not"`
	}]))
	got, err := json.Marshal(plain.Schema()["properties"])
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"age":{"type":"integer"},"name":{"description":"the name, as written","type":"string"},"unit":{"description":"a, or not","enum":["a"],"type":"string"}}`; string(got) != want {
		t.Errorf("the properties are %s, want %s", got, want)
	}
	if _, err := functiontool.New(functiontool.Config{Name: "greet"}, returnsArgs[struct {
		Name string `json:"name" jsonschema:"description=the name, as written"`
	}]); err == nil || !strings.Contains(err.Error(), "field Name") || !strings.Contains(err.Error(), "jsonschema_description") {
		t.Errorf("New() = %v, want an error about field Name", err)
	}
}

func TestSchema(t *testing.T) {
	t.Parallel()
	forecast := functiontool.Must(functiontool.New(functiontool.Config{Name: "forecast"}, returnsArgs[forecastArgs]))
	tree := functiontool.Must(functiontool.New(functiontool.Config{Name: "tree"}, returnsArgs[node]))
	anything := functiontool.Must(functiontool.New(functiontool.Config{Name: "any"}, returnsArgs[map[string]any]))
	nothing := functiontool.Must(functiontool.New(functiontool.Config{Name: "none"}, returnsArgs[struct{}]))
	for _, tt := range []struct {
		tool tool.CallableTool
		want string
	}{
		{forecast, `{
			"type": "object", "additionalProperties": false, "required": ["place"],
			"properties": {
				"place": {"$ref": "#/$defs/place"},
				"others": {"type": "array", "items": {"$ref": "#/$defs/place"}},
				"unit": {"type": "string", "description": "Scale", "enum": ["celsius", "kelvin"], "default": "celsius"},
				"days": {"type": "integer", "minimum": 1},
				"at": {"type": "string", "format": "date-time"},
				"note": {"type": "string", "description": "Text, with commas"},
				"data": {"type": "string", "contentEncoding": "base64"}
			},
			"$defs": {"place": {
				"type": "object", "additionalProperties": false, "required": ["city"],
				"properties": {"city": {"type": "string"}, "zone": {"type": "string", "default": "UTC"}}
			}}
		}`},
		{tree, `{
			"type": "object", "additionalProperties": false, "required": ["name"],
			"properties": {"kind": {"type": "string", "default": "leaf"}, "name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
			"$defs": {"node": {
				"type": "object", "additionalProperties": false, "required": ["name"],
				"properties": {"kind": {"type": "string", "default": "leaf"}, "name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}
			}}
		}`},
		{anything, `{"type": "object"}`},
		{nothing, `{"type": "object", "additionalProperties": false, "properties": {}}`},
	} {
		var want map[string]any
		if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, tt.tool.Schema()); diff != "" {
			t.Errorf("schema of %s (-want +got):\n%s", tt.tool.Name(), diff)
		}
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	forecast := functiontool.Must(functiontool.New(functiontool.Config{Name: "forecast"}, returnsArgs[forecastArgs]))
	tree := functiontool.Must(functiontool.New(functiontool.Config{Name: "tree"}, returnsArgs[node]))
	tests := []struct {
		name string
		tool tool.CallableTool // nil: forecast
		in   string
		want string // of the result, as JSON
		err  string
	}{
		{
			name: "defaults, at the top and below",
			in:   `{"place": {"city": "Rome"}, "others": [{"city": "Oslo"}, {"city": "Lima", "zone": "PET"}]}`,
			want: `{"place":{"city":"Rome","zone":"UTC"},"others":[{"city":"Oslo","zone":"UTC"},{"city":"Lima","zone":"PET"}],"unit":"celsius"}`,
		},
		{
			name: "all",
			in:   `{"place": {"city": "Rome", "zone": "CET"}, "unit": "kelvin", "days": 3, "at": "2026-01-02T03:04:05Z", "note": "n", "data": "eA=="}`,
			want: `{"place":{"city":"Rome","zone":"CET"},"unit":"kelvin","days":3,"at":"2026-01-02T03:04:05Z","note":"n","data":"eA=="}`,
		},
		{
			name: "defaults in a type that refers to itself", tool: tree,
			in:   `{"name": "a", "children": [{"name": "b", "kind": "twig", "children": [{"name": "c"}]}]}`,
			want: `{"kind":"leaf","name":"a","children":[{"kind":"twig","name":"b","children":[{"kind":"leaf","name":"c"}]}]}`,
		},
		{name: "none", in: ``, err: "invalid: at /place: is missing"},
		{name: "unknown", in: `{"place": {"city": "x", "town": "y"}}`, err: "invalid: at /place/town: is not a known name"},
		{name: "other case", in: `{"place": {"City": "x"}}`, err: "invalid: at /place/City: is not a known name; at /place/city: is missing"},
		{name: "wrong type", in: `{"place": {"city": 1}}`, err: "invalid: at /place/city: got number, want string"},
		{name: "not in the enumeration", in: `{"place": {"city": "x"}, "unit": "f"}`, err: "invalid: at /unit: value must be one of 'celsius', 'kelvin'"},
		{name: "fits the schema, not the type", in: `{"place": {"city": "x"}, "days": 300}`, err: "invalid: at /days: number 300 does not fit int8"},
		{name: "not base64", in: `{"place": {"city": "x"}, "data": "é"}`, err: "invalid: illegal base64 data at input byte 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			args, err := tool.DecodeArgs([]byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			before, _ := json.Marshal(args)
			callee := forecast
			if tt.tool != nil {
				callee = tt.tool
			}
			got, err := callee.Call(nil, args)
			if after, _ := json.Marshal(args); string(before) != string(after) {
				t.Errorf("Call has changed the arguments from %s to %s", before, after)
			}
			if tt.err != "" {
				if _, ok := errors.AsType[*tool.InvalidError](err); !ok || err.Error() != tt.err {
					t.Errorf("error = %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var want map[string]any
			d := json.NewDecoder(strings.NewReader(tt.want))
			d.UseNumber()
			if err := d.Decode(&want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	c := functiontool.Config{Name: "t"}
	type badDefault struct {
		N string `json:"n" jsonschema:"enum=a,default=b"`
	}
	type channel struct {
		C chan int `json:"c"`
	}
	tests := []struct {
		name string
		make func() (tool.CallableTool, error)
		err  string
	}{
		{"no name", func() (tool.CallableTool, error) {
			return functiontool.New(functiontool.Config{}, returnsArgs[struct{}])
		}, "needs a name"},
		{"no function", func() (tool.CallableTool, error) {
			return functiontool.New[struct{}, string](c, nil)
		}, "is nil"},
		{"arguments without names", func() (tool.CallableTool, error) { return functiontool.New(c, returnsArgs[string]) }, "struct or a map"},
		{"a type that JSON lacks", func() (tool.CallableTool, error) { return functiontool.New(c, returnsArgs[channel]) }, "chan int"},
		{"not an object as JSON", func() (tool.CallableTool, error) { return functiontool.New(c, returnsArgs[time.Time]) }, "not an object schema"},
		{"bad default", func() (tool.CallableTool, error) { return functiontool.New(c, returnsArgs[badDefault]) }, "the default b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := tt.make(); err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error = %v, want …%s…", err, tt.err)
			}
		})
	}
}

func TestResult(t *testing.T) {
	t.Parallel()
	type answer struct {
		ID int64 `json:"id"`
	}
	var none *answer
	tests := []struct {
		name   string
		result any
		want   map[string]any
	}{
		{"map", map[string]any{"n": 1}, map[string]any{"n": 1}},
		{"nil map", map[string]any(nil), map[string]any{}},
		{"other map", map[string]int{"n": 1}, map[string]any{"n": json.Number("1")}},
		{"struct", answer{math.MaxInt64}, map[string]any{"id": json.Number("9223372036854775807")}},
		{"pointer", &answer{1}, map[string]any{"id": json.Number("1")}},
		{"nil pointer", none, map[string]any{"result": nil}},
		{"nil", nil, map[string]any{"result": nil}},
		{"text", "x", map[string]any{"result": "x"}},
		{"number", 3, map[string]any{"result": 3}},
		{"list", []answer{{1}}, map[string]any{"result": []any{map[string]any{"id": json.Number("1")}}}},
		{"time", time.Unix(0, 0).UTC(), map[string]any{"result": "1970-01-01T00:00:00Z"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, err := functiontool.New(functiontool.Config{Name: "t"}, func(tool.Context, struct{}) (any, error) { return tt.result, nil })
			if err != nil {
				t.Fatal(err)
			}
			got, err := f.Call(nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
	f := functiontool.Must(functiontool.New(functiontool.Config{Name: "t"}, func(tool.Context, struct{}) (float64, error) { return math.NaN(), nil }))
	if _, err := f.Call(nil, nil); err == nil {
		t.Error("NaN is no error")
	}
}

func TestDeclarations(t *testing.T) {
	t.Parallel()
	c := functiontool.Config{
		Name: "t", Description: "does it", RequireApproval: true, LongRunning: true,
		Annotations: tool.Annotations{Idempotent: true}, TakesPayload: true,
		Gate:     func(agent.ReadonlyContext, map[string]any) (bool, error) { return true, nil },
		HintFunc: func(agent.ReadonlyContext, map[string]any) (string, error) { return "why", nil },
	}
	call := functiontool.Must(functiontool.New(c, returnsArgs[struct{}]))
	stream, err := functiontool.NewStreaming(c, func(tool.Context, struct{}) iter.Seq2[*tool.Result, error] { return nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, tl := range []tool.Tool{call, stream} {
		if tl.Name() != "t" || tl.Description() != "does it" || !tl.RequiresApproval() || !tl.IsLongRunning() || !tool.AnnotationsOf(tl).Idempotent {
			t.Errorf("%T does not declare what was configured", tl)
		}
		if p, ok := tool.As[tool.TakesPayload](tl); !ok || !p.TakesPayload() {
			t.Errorf("%T does not declare that it takes a payload", tl)
		}
		if ask, err := tool.NeedsApproval(nil, tl, nil); !ask || err != nil {
			t.Errorf("NeedsApproval() = %v, %v", ask, err)
		}
		if hint, err := tool.Hint(nil, tl, nil); hint != "why" || err != nil {
			t.Errorf("Hint() = %q, %v", hint, err)
		}
	}
	silent := functiontool.Must(functiontool.New(functiontool.Config{Name: "t"}, returnsArgs[struct{}]))
	if p, ok := tool.As[tool.TakesPayload](silent); ok && p.TakesPayload() {
		t.Error("a function of which nothing is said takes a payload")
	}
	if _, ok := call.(tool.StreamingTool); ok {
		t.Error("a plain function streams")
	}
	if _, ok := stream.(tool.CallableTool); ok {
		t.Error("a streaming function can be called")
	}
}

func TestErrorsPass(t *testing.T) {
	t.Parallel()
	want := &tool.Suspension{Asks: []tool.Question{{Kind: tool.AskConfirm}}}
	call := functiontool.Must(functiontool.New(functiontool.Config{Name: "t"}, func(tool.Context, struct{}) (string, error) { return "", want }))
	if _, err := call.Call(nil, nil); err != error(want) { //nolint:errorlint // exactly this one
		t.Errorf("error = %v, want the suspension", err)
	}
	called := false
	stream, err := functiontool.NewStreaming(functiontool.Config{Name: "t"}, func(tool.Context, struct{}) iter.Seq2[*tool.Result, error] {
		called = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for r, err := range stream.CallStreaming(nil, map[string]any{"x": 1.0}) {
		n++
		if got := "invalid: at /x: is not a known name"; r != nil || err == nil || err.Error() != got {
			t.Errorf("yields %v, %v, want %s", r, err, got)
		}
	}
	if n != 1 || called {
		t.Errorf("%d results, called = %v", n, called)
	}
}

// A poller has the gate and the schema of its configuration, is long-running, and can stop
// jobs only if it has a function for that; a question keeps the job.
func TestNewPoller(t *testing.T) {
	t.Parallel()
	type job struct {
		ID string `json:"id"`
	}
	var stopped string
	whole := functiontool.Job[forecastArgs, job, map[string]any]{
		Start: func(tool.Context, forecastArgs) (job, error) { return job{"j1"}, nil },
		Poll: func(_ tool.Context, j *job) (map[string]any, bool, error) {
			j.ID += "+"
			return nil, false, &tool.Suspension{Wake: time.Unix(1, 0)}
		},
		Stop:    func(_ tool.Context, j job) error { stopped = j.ID; return nil },
		Polling: tool.Polling{First: time.Minute},
	}
	p, err := functiontool.NewPoller(functiontool.Config{Name: "forecast", RequireApproval: true}, whole)
	if err != nil {
		t.Fatal(err)
	}
	polled, _ := tool.As[tool.Polled](p)
	if !p.IsLongRunning() || !p.RequiresApproval() || polled.Polling().First != time.Minute {
		t.Errorf("long-running %t, approval %t, %+v", p.IsLongRunning(), p.RequiresApproval(), polled.Polling())
	}
	if _, err := tool.NewRegistry(tool.NewToolset("own", p)).Lookup(nil, "forecast"); err != nil {
		t.Error(err)
	}
	_, _, err = p.Poll(nil, json.RawMessage(`{"job":{"id":"j1"}}`))
	if s, ok := errors.AsType[*tool.Suspension](err); !ok || string(s.State) != `{"job":{"id":"j1+"}}` {
		t.Errorf("Poll() = %v, want a suspension that keeps the job", err)
	}
	if s, ok := tool.As[tool.JobStopper](p); !ok || s.StopJob(nil, json.RawMessage(`{"job":{"id":"j1"}}`)) != nil || stopped != "j1" {
		t.Errorf("StopJob() stopped %q", stopped)
	}
	whole.Stop = nil
	if p, err = functiontool.NewPoller(functiontool.Config{Name: "forecast"}, whole); err != nil {
		t.Fatal(err)
	}
	if _, ok := tool.As[tool.JobStopper](p); ok {
		t.Error("a poller without Stop stops jobs")
	}
	whole.Poll = nil
	if _, err := functiontool.NewPoller(functiontool.Config{Name: "forecast"}, whole); err == nil {
		t.Error("a job without Poll is accepted")
	}
}

// A keyword that the schema would lose is an error: a minimum guards money.
func TestLostKeywords(t *testing.T) {
	t.Parallel()
	config := functiontool.Config{Name: "refund"}
	for name, err := range map[string]error{
		"minmum=5": newError(functiontool.New(config, returnsArgs[struct {
			Cents int `json:"cents" jsonschema:"minmum=5"`
		}])),
		"minimum=abc": newError(functiontool.New(config, returnsArgs[struct {
			Cents int `json:"cents" jsonschema:"minimum=abc"`
		}])),
		"default=x": newError(functiontool.New(config, returnsArgs[struct {
			Cents int `json:"cents" jsonschema:"default=x,description=of the refund"`
		}])),
		"maxLength=5": newError(functiontool.New(config, returnsArgs[struct {
			Cents int `json:"cents" jsonschema:"maxLength=5"`
		}])),
		"minimum=1 has": newError(functiontool.New(config, returnsArgs[struct {
			Order string `json:"order" jsonschema:"minimum=1"`
		}])),
		`"re fund"`: newError(functiontool.New(functiontool.Config{Name: "re fund"}, returnsArgs[struct{}])),
	} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("New() = %v, want an error about %s", err, name)
		}
	}
	if _, err := functiontool.New(config, returnsArgs[struct {
		Cents  int         `json:"cents" jsonschema:"minimum=1,maximum=5000,default=100,enum=100,enum=200,example=100"`
		Rate   json.Number `json:"rate" jsonschema:"exclusiveMinimum=0,multipleOf=0.5"`
		Order  string      `json:"order" jsonschema:"type=string,pattern=^[A-Z]\\,?[0-9]+$,minLength=2,format=order,title=Order"`
		Others []string    `json:"others" jsonschema:"minItems=1,uniqueItems=true,enum=a,enum=b"`
		Urgent bool        `json:"urgent" jsonschema:"default=false"`
	}]); err != nil {
		t.Errorf("New() = %v", err)
	}
}

func newError(_ tool.CallableTool, err error) error { return err }
