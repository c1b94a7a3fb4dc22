package strictjson

import (
	"encoding/json"
	"fmt"

	"github.com/gowebpki/jcs"
)

// Canonical returns the RFC 8785 form of v, which [Decode] made, or which is like
// it. Equal values have equal forms: what is digested is this. RFC 8785 takes every
// number for a double, so that integers beyond what [Decode] accepts, which only a
// v from elsewhere can hold, may share a form.
func Canonical(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode a value canonically: %w", err)
	}
	canonical, err := jcs.Transform(raw)
	if err != nil {
		return nil, fmt.Errorf("encode a value canonically: %w", err)
	}
	return canonical, nil
}
