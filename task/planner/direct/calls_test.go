package direct_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"a2a-server/task"
)

func call(name, args string) task.PlannedCall {
	return task.PlannedCall{Tool: name, Args: json.RawMessage(args)}
}

func alias(id string, c task.PlannedCall) task.PlannedCall {
	c.Alias = id
	return c
}

func TestCalls(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		parts []*a2a.Part
		want  []task.PlannedCall
	}{
		{"data", []*a2a.Part{data(t, `{"tool":"echo","args":{"text":"hi"}}`)}, []task.PlannedCall{call("echo", `{"text":"hi"}`)}},
		{"data, arguments", []*a2a.Part{data(t, `{"tool":"echo","arguments":{"text":"hi"},"id":"x"}`)}, []task.PlannedCall{alias("x", call("echo", `{"text":"hi"}`))}},
		{"data, no arguments", []*a2a.Part{data(t, `{"tool":"bare"}`)}, []task.PlannedCall{call("bare", `{}`)}},
		{"data, null arguments", []*a2a.Part{data(t, `{"tool":"bare","args":null,"id":null}`)}, []task.PlannedCall{call("bare", `{}`)}},
		{"data, wrong arguments are the result's business", []*a2a.Part{data(t, `{"tool":"bare","args":[1]}`)}, []task.PlannedCall{call("bare", `[1]`)}},
		{"data, unknown tool", []*a2a.Part{data(t, `{"tool":"nope","args":{}}`)}, []task.PlannedCall{call("nope", `{}`)}},
		{"data, several calls", []*a2a.Part{data(t, `{"calls":[{"tool":"bare"},{"tool":"echo","args":{"text":"b"}}]}`)}, []task.PlannedCall{call("bare", `{}`), call("echo", `{"text":"b"}`)}},
		{"adk", []*a2a.Part{adk(data(t, `{"id":"adk-1","name":"echo","args":{"text":"hi"},"other":1}`))}, []task.PlannedCall{alias("adk-1", call("echo", `{"text":"hi"}`))}},
		{"text, pairs", []*a2a.Part{text(` /transfer_money amount=12.5  to=007 memo="two words" any=7 tags=["a b", 1] `)}, []task.PlannedCall{call("transfer_money", `{"amount":12.5,"any":7,"memo":"two words","tags":["a b",1],"to":"007"}`)}},
		{"text, a string stays one", []*a2a.Part{text(`/transfer_money to=12 memo={"a":1} speed=true amount=x`)}, []task.PlannedCall{call("transfer_money", `{"amount":"x","memo":"{\"a\":1}","speed":"true","to":"12"}`)}},
		{"text, a quoted number is a string", []*a2a.Part{text(`/transfer_money amount="5" to=`)}, []task.PlannedCall{call("transfer_money", `{"amount":"5","to":""}`)}},
		{"text, escapes", []*a2a.Part{text(`/bare a="say \"hi\"" b=[`)}, []task.PlannedCall{call("bare", `{"a":"say \"hi\"","b":"["}`)}},
		{"text, a key the schema lacks", []*a2a.Part{text(`/transfer_money total=5`)}, []task.PlannedCall{call("transfer_money", `{"total":5}`)}},
		{"text, no arguments", []*a2a.Part{text("/bare\n")}, []task.PlannedCall{call("bare", `{}`)}},
		{"text, json", []*a2a.Part{text(`/transfer_money {"amount": 9007199254740993, "to": "bob"}`)}, []task.PlannedCall{call("transfer_money", `{"amount": 9007199254740993, "to": "bob"}`)}},
		{"text, the rest", []*a2a.Part{text("/echo hello  world,\nagain")}, []task.PlannedCall{call("echo", `{"text":"hello  world,\nagain"}`)}},
		{"text, the rest has an equals sign", []*a2a.Part{text("/echo a=b")}, []task.PlannedCall{call("echo", `{"text":"a=b"}`)}},
		{"text, the rest begins like json", []*a2a.Part{text("/echo {hi}")}, []task.PlannedCall{call("echo", `{"text":"{hi}"}`)}},
		{"text, pairs for a tool that could take the rest", []*a2a.Part{text("/echo text=hi times=3")}, []task.PlannedCall{call("echo", `{"text":"hi","times":3}`)}},
		{"text, json for a tool that could take the rest", []*a2a.Part{text(`/echo {"text":"hi"}`)}, []task.PlannedCall{call("echo", `{"text":"hi"}`)}},
		{"one call a part", []*a2a.Part{text("/echo a\n/echo b")}, []task.PlannedCall{call("echo", `{"text":"a\n/echo b"}`)}},
		{
			"several parts, others ignored",
			[]*a2a.Part{text("please:"), text("/echo 1"), data(t, `{"note":"x"}`), data(t, `[1]`), a2a.NewRawPart([]byte("x")), nil, adk(data(t, `{"name":"bare"}`)), data(t, `{"tool":"echo"}`)},
			[]task.PlannedCall{call("echo", `{"text":"1"}`), call("bare", `{}`), call("echo", `{}`)},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, answer := plan(t, message(tt.parts...))
			if answer != nil {
				t.Fatalf("Accept() = %q, want none", answer.Parts[0].Text())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

func pairs(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " k%d=1", i)
	}
	return b.String()
}

func TestNoCalls(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		part *a2a.Part
		want string // what the answer says first
	}{
		{"plain text", text("hello"), "Tools that you may call:\n"},
		{"other data", data(t, `{"a":1}`), "Tools that you may call:\n"},
		{"unknown command", text("/nope x"), "part 1: unknown tool \"nope\"\n"},
		{"misspelled command", text("/transfer_monye x"), "part 1: unknown tool \"transfer_monye\"; did you mean transfer_money?\n"},
		{"slash alone", text("/ echo"), "part 1: unknown tool \"\"\n"},
		{"no pairs", text("/transfer_money 5 bob"), "/transfer_money: expected key=value at \"5 bob\"; a value with blanks needs quotes\n"},
		{"a key twice", text("/transfer_money to=a to=b"), "\"to\" is given twice\n"},
		{"open quote", text(`/transfer_money to="a`), "the value of \"to\" is not one quoted JSON string"},
		{"text after a quote", text(`/transfer_money to="a"b`), "the value of \"to\" is not one quoted JSON string"},
		{"bad json", text(`/transfer_money {"to":}`), "the arguments are not valid JSON: invalid character"},
		{"misspelt key", data(t, `{"tool":"echo","arg":{}}`), "part 1: unknown key \"arg\"; known are [\"tool\" \"args\" \"arguments\" \"id\"]\n"},
		{"both names of the arguments", data(t, `{"tool":"echo","args":{},"arguments":{}}`), "\"args\" and \"arguments\" are the same; use one of them\n"},
		{"no name", data(t, `{"tool":3}`), "\"tool\" must be a string, the name of a tool\n"},
		{"a name that is none", data(t, `{"tool":"`+strings.Repeat("x", 257)+`"}`), "part 1: unknown tool \"" + strings.Repeat("x", 100) + "…\": a name has at most 256 bytes\n"},
		{"a long key", data(t, `{"tool":"echo","`+strings.Repeat("x", 1000)+`":1}`), "part 1: unknown key \"" + strings.Repeat("x", 100) + "…\"; known are"},
		{"a long key of a pair, twice", text("/transfer_money " + strings.Repeat("x", 1000) + "=1 " + strings.Repeat("x", 1000) + "=1"), strings.Repeat("x", 100) + "…\" is given twice\n"},
		{"more pairs than any tool takes", text("/transfer_money" + pairs(1025)), "part 1: /transfer_money: more than 1024 arguments"},
		{"wrong id", data(t, `{"tool":"echo","id":3}`), "\"id\" of the call of \"echo\" must be a string\n"},
		{"id in the form of that of a call", data(t, `{"calls":[{"tool":"echo","id":"x"},{"tool":"bare","id":"c1.2"}]}`), "part 1: calls[1]: \"id\" of the call of \"bare\" is \"c1.2\", which looks like an id of this server; choose another one"},
		{"id that would pass for that of a call", data(t, `{"tool":"echo","id":" C1.2\u200b"}`), "part 1: \"id\" of the call of \"echo\" is \" C1.2\\u200b\", which looks like"},
		{"id in the form of that of an approval", data(t, `{"tool":"echo","id":"0198.a1"}`), "\"0198.a1\", which looks like an id of this server"},
		{"adk, id in the form of that of a call", adk(data(t, `{"name":"bare","id":"c1.1"}`)), "part 1: \"id\" of the call of \"bare\" is \"c1.1\""},
		{"two calls with one id", data(t, `{"calls":[{"tool":"echo","id":"x"},{"tool":"bare"},{"tool":"bare"},{"tool":"bare","id":"x"}]}`),
			"part 1: calls[3]: \"id\" \"x\" is already used by the call at part 1: calls[0]; give each call its own id, or none\n"},
		{"tool and calls", data(t, `{"tool":"echo","calls":[]}`), "one part has both \"tool\" and \"calls\"; use one of them\n"},
		{"calls and more", data(t, `{"calls":[],"x":1}`), "unknown key \"x\"; known are [\"calls\"]\n"},
		{"no calls", data(t, `{"calls":[]}`), "\"calls\" must be a list of at least one"},
		{"a call that is none", data(t, `{"calls":[{"tool":"echo"},5]}`), "calls[1] must be an object"},
		{"a wrong call", data(t, `{"calls":[{"name":"echo"}]}`), "calls[0]: unknown key \"name\""},
		{"adk without a name", adk(data(t, `{"id":"x"}`)), "\"name\" must be a string, the name of a tool\n"},
		{"adk of a list", adk(data(t, `[]`)), "an ADK function_call is an object"},
		{"not JSON", a2a.NewDataPart(map[string]any{"tool": "echo", "args": func() {}}), "the arguments of \"echo\" are not JSON"},
		{"too many", data(t, `{"calls":[`+strings.Repeat(`{"tool":"bare"},`, 64)+`{"tool":"bare"}]}`), "the message names 65 calls; at most 64 are allowed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, answer := plan(t, message(tt.part))
			if answer == nil {
				t.Fatal("Accept() = nil, want a message")
			}
			got := answer.Parts[0].Text()
			if !strings.Contains(got, tt.want) || !strings.Contains(got, "- transfer_money (each call") {
				t.Errorf("Accept() = %q, want %q and the tools", got, tt.want)
			}
			if wrong := !strings.HasPrefix(tt.want, "Tools"); wrong != strings.HasPrefix(got, "Nothing was run:\n") {
				t.Errorf("Accept() = %q, want that nothing was run: %t", got, wrong)
			}

			// One bad call keeps the good ones of the message from running.
			if strings.HasPrefix(tt.want, "Tools") {
				return
			}
			if _, answer := plan(t, message(text("/echo ok"), tt.part)); answer == nil {
				t.Error("Accept() beside a good call = nil, want a message")
			}
		})
	}
}

func TestEqualIDsInTwoParts(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]*a2a.Message{
		"data":         message(data(t, `{"tool":"bare","id":"x"}`), data(t, `{"tool":"echo","id":"x"}`)),
		"data and adk": message(adk(data(t, `{"name":"bare","id":"x"}`)), data(t, `{"calls":[{"tool":"echo","id":"x"}]}`)),
	} {
		_, answer := plan(t, m)
		if answer == nil {
			t.Fatalf("%s: Accept() = nil, want a message", name)
		}
		if got, want := answer.Parts[0].Text(), `part 2: "id" "x" is already used by the call at part 1;`; !strings.Contains(got, want) {
			t.Errorf("%s: Accept() = %q, want %q", name, got, want)
		}
	}
}

// FuzzText looks for texts that break the parser, or that become arguments which
// are not JSON.
func FuzzText(f *testing.F) {
	for _, s := range []string{"/echo hi", `/bare a="b" c=[1,2] d=`, `/transfer_money {"a":1}`, "/", "/bare =", `/bare a="`, "/bare a={} b", "/echo \xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		calls, answer := plan(t, message(text(s)))
		if answer != nil {
			return
		}
		if len(calls) != 1 {
			t.Fatalf("%q gave %d calls, want 1", s, len(calls))
		}
		var args map[string]any
		if err := json.Unmarshal(calls[0].Args, &args); err != nil {
			t.Errorf("%q gave the arguments %s, which are no object: %v", s, calls[0].Args, err)
		}
	})
}
