package functiontool

import (
	"encoding/json"
	"fmt"

	"a2a-server/internal/strictjson"
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
	v, _, err := strictjson.Numbers(raw)
	if err != nil {
		return nil, fmt.Errorf("encode the result of the function: %w", err)
	}
	if m, ok := v.(map[string]any); ok {
		return m, nil
	}
	return map[string]any{"result": v}, nil
}
