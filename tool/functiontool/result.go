package functiontool

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// result builds the result of a call from the value returned by the function.
func result(r any) (map[string]any, error) {
	switch r := r.(type) {
	case map[string]any:
		if r == nil {
			return map[string]any{}, nil
		}
		return r, nil
	case nil, string, bool, int, int64:
		return map[string]any{"result": r}, nil
	}
	raw, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode the result of the function: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("encode the result of the function: %w", err)
	}
	if m, ok := v.(map[string]any); ok {
		return m, nil
	}
	return map[string]any{"result": v}, nil
}
