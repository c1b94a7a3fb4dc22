package jsonrpc

import (
	"encoding/json"
	"strings"
	"testing"
)

// What the members of a request may be, and what is said about others.
func TestMembersOfARequest(t *testing.T) {
	t.Parallel()
	long := `"` + strings.Repeat("x", maxWord) + `"`
	for _, c := range []struct{ version, method, want string }{
		{`"2.0"`, `"GetTask"`, ""}, {`"\u0032.0"`, `"Get\u0054ask"`, ""},
		{`null`, `"GetTask"`, `jsonrpc must be "2.0"`}, {`"1.0"`, `"GetTask"`, `jsonrpc must be "2.0"`}, {`""`, `"GetTask"`, `jsonrpc must be "2.0"`}, {long, `"GetTask"`, `jsonrpc must be "2.0"`},
		{`2.0`, `"GetTask"`, "jsonrpc must be a string"}, {`{"2.0":1}`, `"GetTask"`, "jsonrpc must be a string"}, {`[` + long + `]`, `"GetTask"`, "jsonrpc must be a string"},
		{`"2.0"`, `null`, "method is missing"}, {`"2.0"`, `""`, "method is missing"},
		{`"2.0"`, `1`, "method must be a string"}, {`"2.0"`, `true`, "method must be a string"}, {`"2.0"`, `["GetTask"]`, "method must be a string"}, {`"2.0"`, `{"a":` + long + `}`, "method must be a string"},
		{`"2.0"`, long, "unknown method, with a name of 1024 bytes"},
	} {
		var r request
		says := ""
		if err := parse([]byte(`{"jsonrpc":`+c.version+`,"id":7,"method":`+c.method+`}`), &r); err != nil {
			says = err.Error()
		}
		if says != c.want && (c.want == "" || !strings.Contains(says, c.want)) || string(r.ID) != "7" {
			t.Errorf("jsonrpc %.20s, method %.20s: id %s, error %q; want 7, %q", c.version, c.method, r.ID, says, c.want)
		}
	}
}

// A method is the text that encoding/json reads.
func FuzzMethod(f *testing.F) {
	for _, method := range []string{`"GetTask"`, `"message/send"`, `"\ud83d\ude00\u00e9\/\"\\\b\f\n\r\t"`, `"\u0000é漢😀"`, `null`, `"\ud800"`, "\"\xff\"", `1`} {
		f.Add([]byte(method))
	}
	f.Fuzz(func(t *testing.T, method []byte) {
		var r request
		if parse([]byte(`{"jsonrpc":"2.0","id":1,"method":`+string(method)+`}`), &r) != nil {
			return
		}
		var want struct{ Method string }
		if err := json.Unmarshal([]byte(`{"method":`+string(method)+`}`), &want); err != nil || r.Method != want.Method {
			t.Errorf("method %s is read as %q; encoding/json reads %q, %v", method, r.Method, want.Method, err)
		}
	})
}
