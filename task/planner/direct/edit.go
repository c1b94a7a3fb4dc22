package direct

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"a2a-server/internal/suggest"
	"a2a-server/task"
)

// Edit returns arguments as a text changes them: a JSON object replaces all arguments, and pairs such as
// amount=5 replace some. Values are read as in a text that calls the tool with the schema; where
// that has no type, a string stays a string. A name that the schema and the arguments lack is an error.
func Edit(args json.RawMessage, schema map[string]any, text string) (json.RawMessage, error) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "{") {
		var object bytes.Buffer
		if err := json.Compact(&object, []byte(text)); err != nil {
			return nil, fmt.Errorf("the arguments are not valid JSON: %w", err)
		}
		return object.Bytes(), nil
	}
	all, err := readPairs(text)
	switch {
	case err != nil:
		return nil, err
	case len(all) == 0:
		return nil, errors.New("no argument is changed: write key=value")
	}
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(args, &members); err != nil {
		return nil, fmt.Errorf("the present arguments are no object: %w", err)
	}
	sig := signatureOf(schema)
	for _, p := range all {
		before, present := members[p.key]
		property := sig.property(p.key)
		if _, known := sig.properties[p.key]; !known && !present && len(sig.properties) > 0 {
			return nil, fmt.Errorf("there is no argument %+q%s", clip(p.key, 100), suggest.DidYouMean(p.key, "", sig.names()))
		}
		isString := sig.isString(p.key) || property["type"] == nil && bytes.HasPrefix(before, []byte(`"`))
		if members[p.key], err = task.EncodeArgs(p.read(isString)); err != nil {
			return nil, err
		}
	}
	return json.Marshal(members)
}
