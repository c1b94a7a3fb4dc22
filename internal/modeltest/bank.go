package modeltest

import (
	"fmt"
	"regexp"
	"strings"
)

var order = regexp.MustCompile(`(?i)transfer (\d+) to (\w+)`)

// Bank answers as a model does that transfers money when it is told to, with transfer_money, and
// then says what came of it.
func Bank(r *Request) Answer {
	last := r.Last()
	if last.Role == "tool" {
		return Answer{Text: "The bank says: " + strings.TrimSpace(last.Content), Reasoning: "There is a result."}
	}
	m := order.FindStringSubmatch(last.Content)
	if m == nil {
		return Answer{Text: "I can transfer money."}
	}
	return Answer{Text: "I will do that. ", Calls: []Call{{Name: "transfer_money", Args: fmt.Sprintf(`{"amount":%s,"to":%q}`, m[1], m[2])}}}
}
