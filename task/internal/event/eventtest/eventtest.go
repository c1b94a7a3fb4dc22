// Package eventtest holds test data for events and their fold: values of the SDK's types in
// all their forms.
package eventtest

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"a2a-server/store"
)

// Texts are strings that JSON, or encoding/json alone, treats in a special way.
func Texts() []string {
	return []string{
		"", "plain", `quote " and \ backslash`, "tab\tnewline\nreturn\rbell\abackspace\bfeed\f",
		"\x00\x01\x1f\x7f", "<a href='x'>&amp;</a>", "line\u2028separator\u2029s", "grüße, 世界 🎉",
		"bad \xff utf-8 \xc3", "\xed\xa0\x80 surrogate", "\xe2\x80", "\ufffd itself", strings.Repeat("x", 300) + "\n",
	}
}

// Times are times with fractions of every length, and without a fraction.
func Times() []store.Millis {
	return []store.Millis{0, 1, 1_700_000_000_000, 1_700_000_000_600, 1_700_000_000_610, 1_700_000_000_617, 1_700_000_000_007, -1}
}

// times finds the times of statuses, in seconds and in the digits that json.Marshal leaves of
// the milliseconds.
var times = regexp.MustCompile(`("timestamp":"[^".Z]*)\.?(\d*)Z"`)

// MarshalJSON is json.Marshal, but for the times of statuses: they have all three digits.
func MarshalJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("json.Marshal(%v): %v", v, err)
	}
	return times.ReplaceAllStringFunc(string(b), func(found string) string {
		at := times.FindStringSubmatch(found)
		return at[1] + "." + (at[2] + "000")[:3] + `Z"`
	})
}

// Diff is cmp.Diff for long texts, which mostly are equal.
func Diff(want, got string) string {
	if want == got {
		return ""
	}
	return cmp.Diff(want, got)
}

// TimePointer returns a time, nil for none.
func TimePointer(at store.Millis) *time.Time {
	if at == 0 {
		return nil
	}
	t := at.Time()
	return &t
}

// Metadata are metadata of every kind.
func Metadata() []map[string]any {
	return []map[string]any{
		nil,
		{},
		{"z": 1.5, "a": []any{true, nil, "<x>"}, "m": map[string]any{}},
		{"urn:x": map[string]any{"k\u2028": "v"}},
	}
}

// Artifacts are artifacts with every field present and absent.
func Artifacts() []*a2a.Artifact {
	var all []*a2a.Artifact
	partLists := []a2a.ContentParts{
		{},
		{a2a.NewTextPart("")},
		{a2a.NewTextPart("<b>\u2028"), a2a.NewDataPart([]any{map[string]any{"n": -1.5e300, "s": "ü", "e": map[string]any{}}, []any{}, nil, true, false})},
		{a2a.NewRawPart([]byte{0, 1, 255}), a2a.NewFileURLPart("https://example.org/?a&b", "text/plain")},
	}
	for _, text := range []string{"", "näme <x>"} {
		for _, extensions := range [][]string{nil, {"urn:a", "urn:<b>"}} {
			for _, metadata := range Metadata() {
				for _, parts := range partLists {
					all = append(all, &a2a.Artifact{
						ID: a2a.ArtifactID("id" + text), Name: text, Description: text, Extensions: extensions, Metadata: metadata, Parts: parts,
					})
				}
			}
		}
	}
	return all
}
