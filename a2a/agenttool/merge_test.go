package agenttool_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"a2a-server/a2a/agenttool"
)

type event struct {
	Result struct {
		ArtifactUpdate struct {
			Append   bool
			Artifact struct {
				ArtifactID string
				Parts      []struct{ Text, URL string }
			}
		}
	}
}

// fold returns the artifacts that a stream leaves, and the number of its events.
func fold(t interface{ Fatalf(string, ...any) }, stream string) (artifacts map[string]string, n int) {
	artifacts = map[string]string{}
	for line := range strings.Lines(stream) {
		data, is := strings.CutPrefix(line, "data: ")
		if !is {
			continue
		}
		var e event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		n++
		u := e.Result.ArtifactUpdate
		if !u.Append {
			artifacts[u.Artifact.ArtifactID] = ""
		}
		for _, p := range u.Artifact.Parts {
			artifacts[u.Artifact.ArtifactID] += p.Text + p.URL
		}
	}
	return artifacts, n
}

// A merged stream leaves the same artifacts, however it arrives.
func TestMerge(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for i := range rapid.IntRange(0, 20).Draw(t, "events") {
			if rapid.Bool().Draw(t, "id") {
				fmt.Fprintf(&b, "id: %d-x\n", i)
			}
			if rapid.IntRange(0, 9).Draw(t, "comment") == 0 {
				b.WriteString(": a comment\n\n")
			}
			text, _ := json.Marshal(rapid.SampledFrom([]string{"a", "", `say "hi"`, `\`, `"}],"append":true`, "é\n\x00", `"parts":[{"text":"`}).Draw(t, "text"))
			parts := rapid.SampledFrom([]string{`{"text":%s}`, `{"kind":"text","text":%s}`, `{"text":%s},{"text":"x"}`, `{"text":%s,"metadata":{}}`, `{"url":%s}`, `{"text": %s}`}).Draw(t, "parts")
			fmt.Fprintf(&b, "data: {\"result\":{\"artifactUpdate\":{\"append\":%v,\"artifact\":{\"artifactId\":\"%d\",\"parts\":[%s]}}}}\n\n",
				rapid.IntRange(0, 5).Draw(t, "append") > 0, rapid.IntRange(0, 1).Draw(t, "artifact"), fmt.Sprintf(parts, text))
		}
		want, before := fold(t, b.String())
		var in io.Reader = strings.NewReader(b.String())
		if rapid.Bool().Draw(t, "slow") {
			in = iotest.OneByteReader(in)
		}
		merged, err := io.ReadAll(agenttool.Merged(io.NopCloser(in)))
		if err != nil {
			t.Fatal(err)
		}
		got, after := fold(t, string(merged))
		if fmt.Sprint(got) != fmt.Sprint(want) || after > before {
			t.Fatalf("%d events leave %q, want %d and %q:\n%s", after, got, before, want, merged)
		}
	})
}

func TestMergeMerges(t *testing.T) {
	t.Parallel()
	one := "id: 1-x\ndata: {\"result\":{\"artifactUpdate\":{\"artifact\":{\"artifactId\":\"a\",\"parts\":[{\"text\":\"0123456789\"}]},\"append\":true}}}\n\n"
	merged, err := io.ReadAll(agenttool.Merged(io.NopCloser(strings.NewReader(strings.Repeat(one, 10_000)))))
	if err != nil {
		t.Fatal(err)
	}
	if got, n := fold(t, string(merged)); len(got["a"]) != 100_000 || n > 100 {
		t.Errorf("%d events have %d bytes, want less than 100 with 100000", n, len(got["a"]))
	}
}
