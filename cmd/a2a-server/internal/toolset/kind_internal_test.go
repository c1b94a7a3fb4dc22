package toolset

import (
	"slices"
	"testing"

	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

// Every kind of the configuration has its tools, and every kind of tools has its keys.
func TestKinds(t *testing.T) {
	t.Parallel()
	var got []config.Kind
	for _, k := range kinds() {
		got = append(got, k.name)
	}
	if want := config.Kinds(); !slices.Equal(got, want) {
		t.Errorf("kinds() = %v, but Kinds() of cmd/a2a-server/internal/config = %v; add what is missing", got, want)
	}
}

// A tool of a kind that ignores approve asks nevertheless.
func TestApproveOfEveryKind(t *testing.T) {
	t.Parallel()
	pay, err := functiontool.New(functiontool.Config{Name: "pay"}, func(tool.Context, struct{}) (string, error) { return "paid", nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		approve config.Approve
		want    bool
	}{
		{nil, false},
		{config.Approve{}, false},
		{config.Approve{"*"}, true},
		{config.Approve{"pay"}, true},
		{config.Approve{"read"}, false},
	} {
		e := &entry{config: config.Tool{Name: "shop", Approve: c.approve}, made: tool.NewToolset("shop", pay)}
		tools, err := (&maker{}).offered(e).Tools(nil)
		if err != nil || len(tools) != 1 || tools[0].RequiresApproval() != c.want {
			t.Errorf("with %+v offered() = %v, %v, want one tool that asks: %v", c.approve, tools, err, c.want)
		}
	}
}
