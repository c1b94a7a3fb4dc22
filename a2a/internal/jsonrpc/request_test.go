package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"a2a-server/a2a/internal/operation"
	"a2a-server/internal/strictjson"
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
		if err := r.parse([]byte(`{"jsonrpc":`+c.version+`,"id":7,"method":`+c.method+`}`), nil); err != nil {
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
		if r.parse([]byte(`{"jsonrpc":"2.0","id":1,"method":`+string(method)+`}`), nil) != nil {
			return
		}
		var want struct{ Method string }
		if err := json.Unmarshal([]byte(`{"method":`+string(method)+`}`), &want); err != nil || r.Method != want.Method {
			t.Errorf("method %s is read as %q; encoding/json reads %q, %v", method, r.Method, want.Method, err)
		}
	})
}

// A request is read and refused in the same way, whether or not its parameters are decoded with it.
func TestParseInOnePass(t *testing.T) {
	t.Parallel()
	methods := methods(operation.Table())
	decoded := 0
	compare := func(body string) {
		t.Helper()
		var once, twice request
		errOnce, errTwice := once.parse([]byte(body), methods), twice.parse([]byte(body), nil)
		if fmt.Sprint(errOnce) != fmt.Sprint(errTwice) {
			t.Errorf("%.500s: %v in one pass, else %v", body, errOnce, errTwice)
		}
		if !reflect.DeepEqual(once.Input, twice.Input) {
			decoded++
		}
		if errOnce != nil {
			once.Input.JSON, twice.Input.JSON = nil, nil
		}
		if !bytes.Equal(once.ID, twice.ID) || once.Method != twice.Method || once.NoID != twice.NoID || !bytes.Equal(once.Input.JSON, twice.Input.JSON) {
			t.Errorf("%.500s: %+v in one pass, else %+v", body, once, twice)
		}
	}
	head := `{"jsonrpc":"2.0","id":1e400,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":`
	for _, body := range []string{
		head + `[{"data":{"a":[1,null,{"b":"\u00e9"}]}},{"text":"x","metadata":{"c":true}}]},"configuration":{"historyLength":3}}}`,
		head + `[{"raw":"AA=="}]}},"more":[{}]}`,
		`{"id":"\"","params":{"message":{}},"method":"SendMessage","jsonrpc":"2.0"}`,
	} {
		compare(body)
		for i := range body {
			for _, c := range "\"{}[],:0-\\ x\xff" {
				compare(body[:i] + string(c) + body[i+1:])
				compare(body[:i] + string(c) + body[i:])
			}
			compare(body[:i])
			compare(body[:i] + body[i+1:])
		}
	}
	for n := strictjson.MaxValues - 20; n < strictjson.MaxValues; n++ {
		compare(head + `[{"data":{"a":[` + strings.Repeat("0,", n) + `0]}}]}}}`)
	}
	for _, n := range []int{operation.MaxParts, operation.MaxParts + 1} {
		compare(head + `[{"text":""}` + strings.Repeat(`,{"text":""}`, n-1) + `]}}}`)
	}
	if decoded < 1000 {
		t.Errorf("%d bodies were decoded in one pass", decoded)
	}
}
