package strictjson

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Canonical returns the RFC 8785 form of v, which has the types that [Decode] returns.
// Equal values have equal forms, so digests are computed from them. RFC 8785 treats every
// number as a double, so that two different integers may have the same form if they are too
// large for [Decode].
func Canonical(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode a value canonically: %w", err)
	}
	form := jsontext.Value(raw)
	if err := form.Canonicalize(); err != nil {
		return nil, fmt.Errorf("encode a value canonically: %w", err)
	}
	return form, nil
}

// Plain returns v as JSON on one line, in which < > & are not escaped: people read it.
func Plain(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
