package functiontool_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"a2a-server/tool"
	"a2a-server/tool/agent"
	"a2a-server/tool/functiontool"
)

func TestGate(t *testing.T) {
	t.Parallel()
	type transfer struct {
		Amount   int64  `json:"amount"`
		Currency string `json:"currency" jsonschema:"default=EUR"`
	}
	failed := errors.New("no rates")
	gate := functiontool.Gate(func(_ agent.ReadonlyContext, a transfer) (bool, error) {
		if a.Currency == "XXX" {
			return false, failed
		}
		return a.Amount > 100, nil
	})
	pay := functiontool.Must(functiontool.New(functiontool.Config{Name: "pay", Gate: gate}, returnsArgs[transfer]))
	for name, tc := range map[string]struct {
		args   map[string]any
		ask    bool
		failed string
	}{
		"little":        {args: map[string]any{"amount": 1}},
		"much":          {args: map[string]any{"amount": 101}, ask: true},
		"exact":         {args: map[string]any{"amount": float64(9007199254740991), "currency": "CHF"}, ask: true},
		"it fails":      {args: map[string]any{"amount": 1, "currency": "XXX"}, ask: true, failed: "no rates"},
		"does not fit":  {args: map[string]any{"amount": "1"}, ask: true, failed: "/amount"},
		"nothing given": {ask: true, failed: "/amount"},
	} {
		ask, err := tool.NeedsApproval(nil, pay, tc.args)
		if ask != tc.ask || (err != nil) != (tc.failed != "") || err != nil && !strings.Contains(err.Error(), tc.failed) {
			t.Errorf("%s: NeedsApproval() = %t, %v, want %t, %q", name, ask, err, tc.ask, tc.failed)
		}
	}
	bad := functiontool.Gate(func(agent.ReadonlyContext, chan int) (bool, error) { return false, nil })
	if ask, err := bad(nil, nil); !ask || err == nil {
		t.Errorf("a gate of no arguments = %t, %v, want that it asks", ask, err)
	}
	defer func() {
		if recover() == nil {
			t.Error("Must does not panic")
		}
	}()
	functiontool.Must(functiontool.New(functiontool.Config{}, returnsArgs[transfer]))
}

// A masked value is ••• where it fits, and else there is only the fixed hint.
func TestHint(t *testing.T) {
	t.Parallel()
	type transfer struct {
		Amount   int64  `json:"amount"`
		To       string `json:"to"`
		Currency string `json:"currency" jsonschema:"default=EUR"`
	}
	says := functiontool.Hint(func(_ agent.ReadonlyContext, a transfer) (string, error) {
		return fmt.Sprintf("pay %d %s to %s", a.Amount, a.Currency, a.To), nil
	})
	for fixed, hint := range map[string]tool.HintFunc{"": says, "Is it budgeted?": says, "Anyway?": nil} {
		pay := functiontool.Must(functiontool.New(functiontool.Config{Name: "pay", Hint: fixed, HintFunc: hint}, returnsArgs[transfer]))
		for want, args := range map[string]map[string]any{
			"pay 7 EUR to bob": {"amount": json.Number("7"), "to": "bob"},
			"pay 7 CHF to •••": {"amount": 7, "to": tool.Masked{}, "currency": "CHF"},
			fixed:              {"amount": tool.Masked{}, "to": "bob"},
		} {
			if hint == nil {
				want = fixed
			}
			if got, err := tool.Hint(nil, pay, args); got != want || want != fixed && err != nil {
				t.Errorf("Hint(%v) = %q, %v, want %q", args, got, err, want)
			}
		}
	}
	bad := functiontool.Hint(func(agent.ReadonlyContext, chan int) (string, error) { return "x", nil })
	if hint, err := bad(nil, nil); hint != "" || err == nil {
		t.Errorf("a hint of no arguments = %q, %v, want an error", hint, err)
	}
}

// The types of a gate's arguments are those of a tool: what fits one fits the other, as
// the same value.
func TestGateSeesWhatTheToolSees(t *testing.T) {
	t.Parallel()
	type inner struct {
		Deep *int64 `json:"deep,omitempty"`
	}
	type odd struct {
		inner
		Number json.Number     `json:"number,omitempty"`
		Large  uint64          `json:"large,omitempty"`
		Any    any             `json:"any,omitempty"`
		At     *time.Time      `json:"at,omitempty"`
		Nested map[string]*odd `json:"nested,omitempty"`
	}
	for _, args := range []string{
		`{}`, `{"deep": 9007199254740991}`, `{"number": 1.5}`, `{"number": 1e300}`, `{"large": 4503599627370496}`, `{"any": {"a": [1, null, "x"]}}`,
		`{"at": "2026-01-01T00:00:00Z"}`, `{"nested": {"a": {"number": 7, "nested": {}}}}`,
	} {
		var given map[string]any
		if err := json.Unmarshal([]byte(args), &given); err != nil {
			t.Fatal(err)
		}
		var gated, called odd
		x := functiontool.Must(functiontool.New(functiontool.Config{Name: "odd", Gate: functiontool.Gate(func(_ agent.ReadonlyContext, a odd) (bool, error) {
			gated = a
			return false, nil
		})}, func(_ tool.Context, a odd) (string, error) {
			called = a
			return "", nil
		}))
		if ask, err := tool.NeedsApproval(nil, x, given); ask || err != nil {
			t.Errorf("%s: NeedsApproval() = %t, %v, want that it does not ask", args, ask, err)
		}
		if _, err := x.Call(nil, given); err != nil {
			t.Errorf("%s: Call() = %v", args, err)
		}
		if !reflect.DeepEqual(gated, called) {
			t.Errorf("%s: the gate sees %+v, the tool %+v", args, gated, called)
		}
	}
}
