package operation

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
)

// plain returns what is read the plain way.
func plain(params Checked) *sdk.SendMessageRequest {
	var in Input
	if in.ReadBody(params, &Operation{Sends: true}) != nil {
		return nil
	}
	return in.send
}

// What is read the plain way is what protojson reads.
func FuzzDecodePlain(f *testing.F) {
	for _, params := range []string{
		`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"/echo x"}]}}`,
		`{"message":{"messageId":"m","contextId":"c","taskId":"t","role":"ROLE_USER","metadata":{"a":[1,null,{}]},"parts":[{"data":{"tool":"x","args":{"n":-0,"f":1e3}},"metadata":{"k":""}},{"text":""}]},"configuration":{"returnImmediately":true,"historyLength":3}}`,
		`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x","data":{}}]},"configuration":{}}`,
		`{"message":{"message_id":"m","role":1,"parts":[{"raw":"AA=="}],"metadata":{}},"configuration":{"historyLength":1.5}}`,
		`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":[1]},{"data":"x"},{"text":"x","mediaType":"text/plain"}]},"tenant":""}`,
		`{"message":null,"configuration":null}`,
	} {
		f.Add([]byte(params))
	}
	// Each differs in one thing from what is read the plain way.
	for _, message := range []string{
		`"messageId":"","role":"ROLE_USER","parts":[{"text":"x"}]`, `"role":"ROLE_USER","parts":[{"text":"x"}]`,
		`"messageId":"m","parts":[{"text":"x"}]`, `"messageId":"m","role":"","parts":[{"text":"x"}]`, `"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]`, `"messageId":"m","role":"user","parts":[{"text":"x"}]`,
		`"messageId":"m","role":"ROLE_USER"`, `"messageId":"m","role":"ROLE_USER","parts":[]`, `"messageId":"m","role":"ROLE_USER","parts":[{}]`, `"messageId":"m","role":"ROLE_USER","parts":[{"metadata":{"a":1}}]`,
		`"messageId":"m","role":"ROLE_USER","parts":[{"data":{},"text":"x"}]`, `"messageId":"m","role":"ROLE_USER","parts":[{"data":{},"text":""}]`, `"messageId":"m","role":"ROLE_USER","parts":[{"text":"","data":{}}]`,
		`"messageId":"m","role":"ROLE_USER","parts":[{"text":"x","metadata":{}}]`, `"messageId":"m","role":"ROLE_USER","parts":[{"text":"x","metadata":null}]`, `"messageId":"m","role":"ROLE_USER","parts":[{"text":null}]`,
		`"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}],"metadata":{}`, `"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}],"metadata":null`, `"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}],"taskId":null`,
	} {
		f.Add([]byte(`{"message":{` + message + `}}`))
	}
	for _, configuration := range []string{
		`{"historyLength":-1}`, `{"historyLength":-0}`, `{"historyLength":0.5}`, `{"historyLength":3.0}`, `{"historyLength":1e2}`, `{"historyLength":1048577}`, `{"historyLength":2147483648}`, `{"historyLength":1e300}`, `{"historyLength":null}`, `{"historyLength":"3"}`,
		`{"historyLength":1.00000000000000000000001}`, `{"historyLength":34.000000000000000000000000001e1}`, `{"historyLength":1e-400}`, `{"historyLength":-1e-400}`, `{"historyLength":0.00000000000000000000001e23}`, `{"historyLength":-0.0}`, `{"historyLength":10e-1}`, `{"historyLength":00}`, `{"historyLength":9007199254740992}`,
		`{"returnImmediately":null}`, `{"returnImmediately":"true"}`, `{"returnImmediately":1}`, `[]`,
	} {
		f.Add([]byte(`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]},"configuration":` + configuration + `}`))
	}
	for _, data := range []string{
		`{"n":[-0,-0.0,1e-400,-1e-400,5e-324,1.7976931348623157e308,9007199254740991,100000000000000000000.0,0.1]}`,
		`{"":{"":""},"\u0000":"\u0000\u007f\u2028\ufeff","\ud83d\ude00":"é漢😀\/\"\\\b\f\n\r\t","@type":"x","__proto__":{}}`,
		strings.Repeat(`{"a":[`, 29) + strings.Repeat(`]}`, 29), `{"a":1} `, "\n{\r}\t",
	} {
		f.Add([]byte(`{"m\u0065ssage":{"messageId":"m","role":"ROLE\u005fUSER","p\u0061rts":[{"data":` + data + `,"metadata":` + data + `}],"metadata":` + data + `}}`))
	}
	for _, n := range []int{MaxParts, MaxParts + 1} {
		f.Add([]byte(`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":""}` + strings.Repeat(`,{"text":"x"}`, n-1) + `]}}`))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		params, err := Check(raw)
		if err != nil {
			return
		}
		got := plain(params)
		if got == nil {
			return
		}
		want, err := decodeSend(params)
		if err != nil {
			t.Fatalf("the plain way accepts %s: %v", raw, err)
		}
		if !reflect.DeepEqual(got, want) { // go-cmp takes 2^depth steps
			t.Errorf("%s is read as %+v; protojson reads %+v", raw, got, want)
		}
		gotJSON, errGot := json.Marshal(got) // 0 and -0 are equal
		wantJSON, errWant := json.Marshal(want)
		if errGot != nil || errWant != nil || !bytes.Equal(gotJSON, wantJSON) {
			t.Errorf("%s is read as %s, %v; protojson reads %s, %v", raw, gotJSON, errGot, wantJSON, errWant)
		}
	})
}

// What clients usually send is read the plain way.
func TestDecodePlain(t *testing.T) {
	t.Parallel()
	for _, params := range []string{
		`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"/echo x"}]}}`,
		`{"message":{"messageId":"m","taskId":"t","contextId":"","role":"ROLE_USER","parts":[{"data":{"tool":"x","args":{}}}]},"configuration":{"historyLength":0}}`,
	} {
		if plain(Checked(params)) == nil {
			t.Errorf("%s is left to protojson", params)
		}
	}
}

func BenchmarkDecodeSend(b *testing.B) {
	params := Checked(`{"message":{"messageId":"0198c1a4-7d5e-7cc1-b0a2-5d4c3b2a1908","role":"ROLE_USER","parts":[{"data":{"tool":"note","args":{"text":"some words to keep"}}}]}}`)
	b.Run("plain", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			plain(params)
		}
	})
	b.Run("protojson", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := decodeSend(params); err != nil {
				b.Fatal(err)
			}
		}
	})
}
