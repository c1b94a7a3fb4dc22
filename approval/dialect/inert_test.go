package dialect_test

import (
	"strings"
	"testing"

	"a2a-server/approval"
)

// A client that renders the question as Markdown loads nothing that an argument or a hint
// names, and the arguments are the same JSON.
func TestQuestionMakesNoLinks(t *testing.T) {
	t.Parallel()
	const hostile = `![a](http://evil.example/a.png) [b][c] <img src=x> <!-- -->`
	a := with(restarts(), func(a *approval.Approval) {
		a.Args = []byte(`{"list":[[1],"x < y"],"x":"` + hostile + `"}`)
		a.Hint = hostile + "\n[c]: http://evil.example/c.png\n<https://evil.example>"
	})
	m, err := presenter().Question([]*approval.Approval{a}, nil)
	if err != nil {
		t.Fatal(err)
	}
	shown := m.Parts[0].Text()
	for _, mark := range []string{"](", "][", "]:", "<i", "<!", "<h"} {
		if strings.Contains(shown, mark) {
			t.Errorf("the question has %q:\n%s", mark, shown)
		}
	}
	if want := `Arguments: {"list":[[1],"x < y"],"x":"![a\u005d(http://evil.example/a.png) [b\u005d[c] \u003cimg src=x> \u003c!-- -->"}`; !strings.Contains(shown, want) {
		t.Errorf("the question has not\n%s\n%s", want, shown)
	}
}

// A message that decided nothing, and the names in the schema of a question, are repeated
// likewise.
func TestRepeatedTextMakesNoLinks(t *testing.T) {
	t.Parallel()
	const image = `![a](//evil.example/a.png)`
	form := formQuestion(`{"type":"object","required":["` + image + `","<img>"],"properties":{"` + image + `":{"type":"string"},"<img>":{}}}`)
	m, err := presenter().Question([]*approval.Approval{form}, text(t, image))
	if err != nil {
		t.Fatal(err)
	}
	shown := m.Parts[0].Text()
	for _, mark := range []string{"](", "<i"} {
		if strings.Contains(shown, mark) {
			t.Errorf("the question has %q:\n%s", mark, shown)
		}
	}
	if want := `"response":{"![a\u005d(//evil.example/a.png)":"...","\u003cimg>":"..."}`; !strings.Contains(shown, want) {
		t.Errorf("the question has not\n%s\n%s", want, shown)
	}
}
