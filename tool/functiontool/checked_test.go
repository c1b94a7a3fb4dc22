package functiontool_test

import (
	"context"
	"errors"
	"testing"

	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

// called is a tool.Context that has nothing but values.
type called struct {
	tool.Context
	values context.Context //nolint:containedctx // what it has
}

func (c called) Value(key any) any { return c.values.Value(key) }

type bounded struct {
	Amount int `json:"amount" jsonschema:"minimum=1"`
}

// TestChecked: arguments that were checked for the tool are not checked again; all
// others are.
func TestChecked(t *testing.T) {
	t.Parallel()
	pay := functiontool.Must(functiontool.New(functiontool.Config{Name: "pay"}, returnsArgs[bounded]))
	compile := func(schema map[string]any) *tool.Schema {
		s, err := tool.CompileSchema(schema)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	check := func(s *tool.Schema, args map[string]any) *tool.Checked {
		c, err := s.Check(args)
		if err != nil {
			t.Fatal(err)
		}
		return &c
	}
	its := compile(pay.Schema())
	anything := compile(map[string]any{"type": "object"})
	wrong := map[string]any{"amount": 0.0}
	changed := map[string]any{"amount": 5.0}
	proof := check(its, changed)
	changed["amount"] = 0.0 // which nobody may do; here it shows that the proof counted

	for _, tt := range []struct {
		name    string
		proof   *tool.Checked
		args    map[string]any
		refused bool
	}{
		{name: "no proof", args: wrong, refused: true},
		{name: "an empty proof", proof: &tool.Checked{}, args: wrong, refused: true},
		{name: "of other arguments", proof: check(its, map[string]any{"amount": 5.0}), args: wrong, refused: true},
		{name: "for another schema", proof: check(anything, wrong), args: wrong, refused: true},
		{name: "no arguments", proof: check(its, map[string]any{"amount": 5.0}), args: nil, refused: true},
		{name: "of these for this", proof: proof, args: changed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			if tt.proof != nil {
				ctx = tool.ContextWithCallValues(ctx, &tool.CallValues{Checked: tt.proof})
			}
			_, err := pay.Call(called{values: ctx}, tt.args)
			if _, refused := errors.AsType[*tool.InvalidError](err); refused != tt.refused {
				t.Errorf("Call() = %v, want an *InvalidError: %v", err, tt.refused)
			}
		})
	}
	if _, err := its.Check(wrong); err == nil {
		t.Error("Check() of wrong arguments is no error")
	}
}
