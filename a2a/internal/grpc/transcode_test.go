package grpc

import (
	"strings"
	"testing"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"a2a-server/internal/jsonscan"
)

// transcoded are events and answers, in all the forms that the log has.
func transcoded() []string {
	return []string{
		`{}`,
		`{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-02T03:04:05.678Z"},"history":[{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hi"}]}]}}`,
		`{"artifactUpdate":{"taskId":"t1","contextId":"c1","append":true,"artifact":{"artifactId":"a1","parts":[{"text":"chunk 1"}]}}}`,
		`{"artifactUpdate":{"taskId":"t1","append":false,"lastChunk":true,"artifact":{"artifactId":"a1","name":"","parts":[{"text":""},{"raw":"AAEC/+8="},{"url":"https://x/y","mediaType":"text/plain","filename":"a b"}],"extensions":["urn:a","urn:b"]}}}`,
		`{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"data":null},{"data":[1,"x",null,true,false,-1.5e-7,{"a":[]},[[]]]},{"data":"s"},{"data":{"k":{"é\u0000\ud83d\ude00":"\"\\\/\b\f\n\r\t\u2028"}}}],"metadata":{"n":9007199254740991,"":1e300}}}`,
		`{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_INPUT_REQUIRED","message":null,"timestamp":"1969-12-31T23:59:59.999Z"},"metadata":{}}}`,
		` { "task" : { "id" : "` + strings.Repeat("x", 40000) + `" , "artifacts" : [ ] , "history" : [ { "parts" : [ { "text" : "` + strings.Repeat("ü", 300) + `" } ] } ] } } `,
		`{"unknown":{"a":[1,2]},"task":{"id":"t","kind":null}}`,
	}
}

// TestTranscode compares our encoding with that of protojson and protobuf.
func TestTranscode(t *testing.T) {
	t.Parallel()
	for _, in := range transcoded() {
		compareTranscoded(t, in)
		f := formOf((&a2apb.StreamResponse{}).ProtoReflect().Descriptor())
		tr := transcoder{Scanner: jsonscan.New([]byte(in))}
		if fast := tr.message(f) && tr.Peek() == 0; !fast {
			t.Errorf("%.80s: is encoded without protojson: %t", in, fast)
		}
	}
}

// compareTranscoded encodes an event in both ways.
func compareTranscoded(t *testing.T, in string) {
	t.Helper()
	f := formOf((&a2apb.StreamResponse{}).ProtoReflect().Descriptor())
	var want a2apb.StreamResponse
	wrong := protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal([]byte(in), &want)
	out, err := f.encode([]byte(in))
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

// FuzzTranscode compares them for any JSON that protojson can read.
func FuzzTranscode(f *testing.F) {
	for _, in := range transcoded() {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) { compareTranscoded(t, in) })
}

func BenchmarkTranscode(b *testing.B) {
	in := []byte(transcoded()[2])
	f := formOf((&a2apb.StreamResponse{}).ProtoReflect().Descriptor())
	for name, encode := range map[string]func([]byte) (message, error){"ours": f.encode, "protojson": f.encodeSlowly} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := encode(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
