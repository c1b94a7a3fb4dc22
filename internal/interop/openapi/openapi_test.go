package openapi

import (
	"bytes"
	"os"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
)

// file is the document, seen from the folder of this package.
const file = "../../../a2a/openapi.json"

// problems returns what is wrong with a document of OpenAPI 3.1.
func problems(t *testing.T, raw []byte) []string {
	t.Helper()
	document, err := libopenapi.NewDocument(raw)
	if err != nil {
		return []string{err.Error()}
	}
	if got := document.GetVersion(); got != "3.1.1" {
		t.Errorf("the version of OpenAPI is %q, want 3.1.1", got)
	}
	v, errs := validator.NewValidator(document)
	var all []string
	for _, err := range errs {
		all = append(all, err.Error())
	}
	if len(errs) > 0 {
		return all
	}
	if _, found := v.ValidateDocument(); len(found) > 0 {
		for _, f := range found {
			all = append(all, f.Error())
		}
	}
	return all
}

func TestDocument(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems(t, raw) {
		t.Error(problem)
	}
}

// TestProblemsAreFound breaks the document, so that its validator is known to look.
func TestProblemsAreFound(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"a reference to nothing":         {`"$ref": "#/components/schemas/Task"`, `"$ref": "#/components/schemas/Nothing"`},
		"a parameter that is nowhere":    {`"in": "query"`, `"in": "nowhere"`},
		"a response without description": {`"description": "The card has not changed."`, `"x-nothing": ""`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !bytes.Contains(raw, []byte(change[0])) {
				t.Fatalf("the document has no %s", change[0])
			}
			if found := problems(t, bytes.ReplaceAll(raw, []byte(change[0]), []byte(change[1]))); len(found) == 0 {
				t.Error("no problem is found")
			}
		})
	}
}
