package condition_test

import (
	"strings"
	"testing"
	"time"

	"a2a-server/approval/condition"
	"a2a-server/auth"
)

// Types of protocol buffers are no part of the language that docs/policy.md gives.
func TestStrangerProtocolBuffers(t *testing.T) {
	for _, text := range []string{
		`google.protobuf.Value{} == null`,
		`google.protobuf.Int64Value{value: args.a} == 10000`,
		`google.protobuf.DoubleValue{value: args.a} == 10000`,
		`google.protobuf.StringValue{value: args.a} == "10000"`,
		`google.protobuf.BoolValue{value: args.a} == true`,
		`google.protobuf.Value{string_value: args.a} == "10000"`,
		`google.protobuf.Value{number_value: args.a} == 10000`,
		`google.protobuf.ListValue{values: args.a} == [10000]`,
		`google.protobuf.ListValue{values: [args.a]} == [10000]`,
		`google.protobuf.Struct{fields: {"k": args.a}} == {"k": 10000}`,
		`google.protobuf.Struct{fields: {"k": args.a}}.k == 10000`,
		`google.protobuf.Any{} == args.a`,
		`google.protobuf.Any{type_url: args.a} == args.a`,
		`google.protobuf.Duration{seconds: 1} < google.protobuf.Duration{seconds: 2}`,
		`google.protobuf.Duration{seconds: 9223372036854775807} < google.protobuf.Duration{seconds: 2}`,
		`google.protobuf.Timestamp{seconds: 9223372036854775807} < google.protobuf.Timestamp{}`,
		`google.protobuf.Timestamp{seconds: 1} - google.protobuf.Timestamp{} < google.protobuf.Duration{}`,
		`google.protobuf.BytesValue{value: args.a} == b"x"`,
	} {
		c, err := condition.Compile(text)
		if err != nil {
			t.Logf("refused: %s: %v", text, err)
			continue
		}
		for _, a := range []string{`{"a": 10000}`, `{"a": "10000"}`, `{"a": null}`, `{"a": true}`, `{"a": [10000]}`, `{"a": {"k": 1}}`} {
			is, err := c.Match(facts(t, a))
			t.Logf("ACCEPTED %s about %s = %v, %v", text, a, is, err)
		}
	}
}

// Numbers at the edges.
func TestStrangerEdges(t *testing.T) {
	for _, tt := range []struct {
		text, args string
		want       any
	}{
		{`args.a == 0`, `{"a": -0.0}`, true},
		{`args.a < 0`, `{"a": -0.0}`, false},
		{`args.a == 9007199254740993`, `{"a": 9.007199254740992e15}`, false},
		{`args.a < 9007199254740993`, `{"a": 9.007199254740992e15}`, true},
		{`int(args.a) == 9007199254740993`, `{"a": 9.007199254740992e15}`, false},
		{`args.a in [9007199254740993]`, `{"a": 9.007199254740992e15}`, false},
		{`args.a > 9223372036854775807`, `{"a": 9.3e18}`, true},
		{`args.a < -9223372036854775807`, `{"a": -1e308}`, true},
		{`args.a == 9223372036854775807`, `{"a": 9.223372036854775808e18}`, false},
		{`args.a > 9223372036854775806`, `{"a": 9.223372036854775808e18}`, true},
		{`int(args.a) == 1`, `{"a": 1.9999999}`, true},
		{`int(args.a) == -1`, `{"a": -1.9}`, true},
		{`args.a <= 1e308`, `{"a": 1e308}`, true},
		{`args.s < "Z"`, `{"s": "a"}`, false},
		{`size(args.s) == 1`, `{"s": "é"}`, true},
		{`size(args.s) == 2`, `{"s": "e\u0301"}`, true},
		{`size(args.s) == 1`, `{"s": "\ud83d\ude00"}`, true},
		{`args.s < "\U0001F600"`, `{"s": "\uffff"}`, true},
		{`args.s.matches("^.$")`, `{"s": "é"}`, true},
		{`args.s == "a\u0000b"`, `{"s": "a\u0000b"}`, true},
	} {
		is, err := condition.MustCompile(tt.text).Match(facts(t, tt.args))
		if err != nil || any(is) != tt.want {
			t.Errorf("%s about %s = %v, %v, want %v", tt.text, tt.args, is, err, tt.want)
		}
	}
}

// Conditions on deciders have the same rules, and the same time.
func TestStrangerDeciders(t *testing.T) {
	for _, tt := range []struct {
		text, args string
		fails      bool
	}{
		{`decider.subject == "eve" || args.amount in decider.roles`, `{"amount": 5}`, true},
		{`args.who in decider.roles`, `{"who": null}`, false},
		{`args.who in decider.roles`, `{"who": ["x"]}`, true},
		{`decider.roles == args.roles`, `{"roles": "x"}`, true},
		{`decider.subject != args.who`, `{"who": {"id": "bob"}}`, true},
		{`decider.roles.exists(r, r == args.who)`, `{"who": 5}`, true},
	} {
		c, err := condition.CompileDecider(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		is, err := c.Match(facts(t, tt.args).For(auth.Principal{Subject: "bob", Roles: []string{"x"}}))
		if (err != nil) != tt.fails {
			t.Errorf("%s about %s = %v, %v", tt.text, tt.args, is, err)
		}
	}
	over := false
	f := condition.NewFacts(nil, "pay", "desk", auth.Principal{}, func() bool { return over })
	d := f.For(auth.Principal{})
	over = true
	if is, err := condition.MustCompile("true").Match(d); err == nil {
		t.Errorf("after the time: %v", is)
	}
}

// The result of a condition that has ended after its time counts for nothing.
func TestStrangerResultAfterItsTime(t *testing.T) {
	list := make([]any, 80_000) // 160 KB of JSON
	for i := range list {
		list[i] = 1.0
	}
	args := map[string]any{"l": list}
	text := "[" + strings.TrimSuffix(strings.Repeat("args.l,", 120), ",") + "] == [" + strings.TrimSuffix(strings.Repeat("args.l,", 120), ",") + "]"
	f := timed(args)
	began := time.Now()
	is, err := condition.MustCompile(text).Match(f)
	if took := time.Since(began); took > time.Second || err == nil {
		t.Errorf("= %v, %v after %v: a call's conditions have 100 ms together", is, err, took)
	}
}
