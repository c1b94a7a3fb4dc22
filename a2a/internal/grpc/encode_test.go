package grpc

import (
	"strings"
	"testing"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"a2a-server/internal/strictjson"
)

var streamResponse = (&a2apb.StreamResponse{}).ProtoReflect().Type()

// encoded are events and answers, in all the forms that the log has.
func encoded() []string {
	return []string{
		`{}`,
		`{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-02T03:04:05.678Z"},"history":[{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hi"}]}]}}`,
		`{"artifactUpdate":{"taskId":"t1","contextId":"c1","append":true,"artifact":{"artifactId":"a1","parts":[{"text":"chunk 1"}]}}}`,
		`{"artifactUpdate":{"taskId":"t1","append":false,"lastChunk":true,"artifact":{"artifactId":"a1","name":"","parts":[{"text":""},{"raw":"AAEC/+8="},{"url":"https://x/y","mediaType":"text/plain","filename":"a b"}],"extensions":["urn:a","urn:b"]}}}`,
		`{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"data":null},{"data":[1,"x",null,true,false,-1.5e-7,{"a":[]},[[]]]},{"data":"s"},{"data":{"k":{"é\u0000\ud83d\ude00":"\"\\\/\b\f\n\r\t\u2028"}}}],"metadata":{"n":9007199254740991,"":1e300}}}`,
		`{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_INPUT_REQUIRED","timestamp":"1969-12-31T23:59:59.999Z"},"metadata":{}}}`,
		` { "task" : { "id" : "` + strings.Repeat("x", 40000) + `" , "artifacts" : [ ] , "history" : [ { "parts" : [ { "text" : "` + strings.Repeat("ü", 300) + `" } ] } ] } } `,
		`{"unknown":{"a":[1,2]},"task":{"id":"t","kind":null}}`,
	}
}

// TestEncode compares our encoding with that of protojson and protobuf.
func TestEncode(t *testing.T) {
	t.Parallel()
	for _, in := range encoded() {
		compareEncoded(t, in)
		e, known := encoder{}, false
		err := strictjson.ReadTrusted([]byte(in), func(r strictjson.Reader) bool {
			e.Reader = r
			known = e.message(streamResponse.Descriptor())
			return known
		})
		if err != nil || !known {
			t.Errorf("%.80s: is not encoded without protojson: %v", in, err)
		}
	}
	compareEncoded(t, `{"statusUpdate":{"taskId":null,"status":{"message":null},"metadata":null}}`)
	out, err := encode([]byte("{\"task\":{\"id\":\"\xff\"}}"), streamResponse) // of a tool
	var got a2apb.StreamResponse
	if err != nil || proto.Unmarshal(out, &got) != nil || got.GetTask().GetId() != "\ufffd" {
		t.Errorf("bytes that are not UTF-8 are encoded as %v, %v", &got, err)
	}
	compareEncoded(t, `{"task":{"artifacts":null,"history":[null]}}`)
}

// compareEncoded encodes an event in both ways.
func compareEncoded(t *testing.T, in string) {
	t.Helper()
	var want a2apb.StreamResponse
	wrong := protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal([]byte(in), &want)
	out, err := encode([]byte(in), streamResponse)
	if wrong != nil {
		return // whatever it is, the log does not have it
	}
	var got a2apb.StreamResponse
	if err != nil {
		t.Errorf("%.80s: %v", in, err)
	} else if err := proto.Unmarshal(out, &got); err != nil {
		t.Errorf("%.80s: what was encoded cannot be decoded: %v", in, err)
	} else if diff := cmp.Diff(&want, &got, protocmp.Transform()); diff != "" {
		t.Errorf("%.80s (-want +got):\n%s", in, diff)
	}
}

// FuzzEncode compares them for any JSON that protojson can read.
func FuzzEncode(f *testing.F) {
	for _, in := range encoded() {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) { compareEncoded(t, in) })
}

func BenchmarkEncode(b *testing.B) {
	in := []byte(encoded()[2])
	b.ReportAllocs()
	for b.Loop() {
		if _, err := encode(in, streamResponse); err != nil {
			b.Fatal(err)
		}
	}
}
