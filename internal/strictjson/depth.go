package strictjson

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// Depth returns how deep arrays and objects are nested in JSON, which may be refused by [Decode].
func Depth(raw []byte) (deepest int) {
	d := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		if _, err := d.ReadToken(); err != nil {
			return deepest
		}
		deepest = max(deepest, d.StackDepth())
	}
}
