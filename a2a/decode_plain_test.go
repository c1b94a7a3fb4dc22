package a2a

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
		`{"returnImmediately":null}`, `{"returnImmediately":"true"}`, `{"returnImmediately":1}`, `[]`,
	} {
		f.Add([]byte(`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]},"configuration":` + configuration + `}`))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		params, err := check(raw)
		if err != nil {
			return
		}
		got, ok := decodePlain(params)
		if !ok {
			return
		}
		want, err := decodeProto(params)
		if err != nil {
			t.Fatalf("the plain way accepts %s: %v", raw, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-protojson +plain):\n%s", raw, diff)
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
		if _, ok := decodePlain(checked(params)); !ok {
			t.Errorf("decodePlain(%s) leaves it to protojson", params)
		}
	}
}

func BenchmarkDecodeSend(b *testing.B) {
	params := checked(`{"message":{"messageId":"0198c1a4-7d5e-7cc1-b0a2-5d4c3b2a1908","role":"ROLE_USER","parts":[{"data":{"tool":"note","args":{"text":"some words to keep"}}}]}}`)
	b.Run("plain", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			decodePlain(params)
		}
	})
	b.Run("protojson", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := decodeProto(params); err != nil {
				b.Fatal(err)
			}
		}
	})
}
