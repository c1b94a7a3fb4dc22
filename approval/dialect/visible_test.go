package dialect_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"a2a-server/approval"
	"a2a-server/internal/visible"
)

// The question of package approval about a call without a hint and the arguments as this package shows
// them agree over every assigned code point, and leave nothing unseen: a character that one
// of them shows as it is, and the other escapes, would be two arguments to a person.
func TestHintAndQuestionShowTheSame(t *testing.T) {
	t.Parallel()
	var chunk []rune
	check := func() {
		args := map[string]any{"x": string(chunk)}
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		a := with(restarts(), func(a *approval.Approval) { a.Args, a.Hint = raw, "" })
		hint := a.Question()
		m, err := presenter().Question([]*approval.Approval{a}, nil)
		if err != nil {
			t.Fatalf("Question(%U) = %v", chunk, err)
		}
		shown := m.Parts[0].Text()
		if i := strings.IndexFunc(strings.ReplaceAll(shown, "\n", ""), visible.Invisible); i >= 0 {
			t.Errorf("the question shows something invisible of %U", chunk)
		}
		_, inHint, _ := strings.Cut(hint, "arguments? ")
		if inHint == "" || !strings.Contains(shown, "\nArguments: "+inHint+"\n") {
			t.Errorf("of %U the hint shows %q, and the question %q", chunk, hint, shown)
		}
		chunk = chunk[:0]
	}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		assigned := r < 0x40000 || r>>12 == 0xE0 // beyond them one in 257 stands for all
		if utf8.ValidRune(r) && (assigned || r%257 == 0) {
			chunk = append(chunk, r)
		}
		if len(chunk) == 150 { // so that nothing is shortened, were all of it escaped
			check()
		}
	}
	check()
}
