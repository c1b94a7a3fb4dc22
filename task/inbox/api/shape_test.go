package api_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"

	"a2a-server/task/inbox/api"
)

// shapes are those of the exchanges that were validated, by known. What the document says of an
// exchange depends on little else, and comparing takes longer than the exchange.
var shapes sync.Map

// known reports whether an exchange of the same shape was validated or is being validated. A
// request that is refused has none, since the document is not asked about it.
func known(r *http.Request, body []byte, resp *http.Response, raw []byte) bool {
	var asked []string
	if resp.StatusCode < 300 {
		for name, values := range r.URL.Query() {
			for _, v := range values {
				asked = append(asked, name+"="+shape(v))
			}
		}
		slices.Sort(asked)
		asked = append(asked, r.Header.Get("Content-Type"), shapeOf(body))
	}
	key := append([]string{r.Method, pattern(strings.TrimPrefix(r.URL.Path, api.Path)), resp.Status, resp.Header.Get("Content-Type"), shapeOf(raw)}, asked...)
	_, found := shapes.LoadOrStore(strings.Join(key, " "), true)
	return found
}

// outline has the document's paths, in segments, and the values of all its enumerations.
type outline struct {
	paths [][]string
	enums map[string]bool
}

var documentOutline = sync.OnceValue(func() outline {
	var doc map[string]any
	if err := json.Unmarshal(api.Document(), &doc); err != nil {
		panic(err)
	}
	o := outline{enums: map[string]bool{}}
	paths, _ := doc["paths"].(map[string]any)
	for path := range paths {
		o.paths = append(o.paths, strings.Split(path, "/"))
	}
	o.collect(doc)
	return o
})

func (o *outline) collect(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			o.collect(e)
		}
	case map[string]any:
		values, _ := v["enum"].([]any)
		for _, e := range values {
			o.enums[fmt.Sprint(e)] = true
		}
		for _, member := range v {
			o.collect(member)
		}
	}
}

// pattern returns the document's path of a path, the one with the fewest parameters; or the path.
func pattern(path string) string {
	given := strings.Split(path, "/")
	found, fewest := path, len(given)
	for _, segments := range documentOutline().paths {
		if len(segments) != len(given) {
			continue
		}
		parameters, fits := 0, true
		for i, s := range segments {
			if strings.HasPrefix(s, "{") {
				parameters++
			} else if s != given[i] {
				fits = false
			}
		}
		if fits && parameters < fewest {
			found, fewest = strings.Join(segments, "/"), parameters
		}
	}
	return found
}

// shapeOf returns the shape of a body; what is no JSON is its own.
func shapeOf(body []byte) string {
	var v any
	if json.Unmarshal(body, &v) != nil {
		return string(body)
	}
	return shape(v)
}

// sample returns a body without the elements of arrays whose shape an earlier one has.
func sample(body []byte) []byte {
	var v any
	if json.Unmarshal(body, &v) != nil {
		return body
	}
	short, err := json.Marshal(distinct(v))
	if err != nil {
		panic(err)
	}
	return short
}

func distinct(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			v[name] = distinct(v[name])
		}
	case []any:
		seen, short := map[string]bool{}, []any{}
		for _, e := range v {
			if s := shape(e); !seen[s] {
				seen[s], short = true, append(short, distinct(e))
			}
		}
		return short
	}
	return v
}

// shape returns the names of a value's members and their types. Those of an array are the different
// ones of its elements. Each value of an enumeration is a type of its own, so that a value which the
// document lacks has a shape that nothing had before.
func shape(v any) string {
	switch v := v.(type) {
	case map[string]any:
		var members []string
		for name, member := range v {
			members = append(members, name+":"+shape(member))
		}
		slices.Sort(members)
		return "{" + strings.Join(members, ",") + "}"
	case []any:
		var elements []string
		for _, e := range v {
			elements = append(elements, shape(e))
		}
		slices.Sort(elements)
		return "[" + strings.Join(slices.Compact(elements), ",") + "]"
	case string:
		if documentOutline().enums[v] {
			return v
		}
		return "string"
	case float64:
		if v == math.Trunc(v) {
			return "integer"
		}
		return "number"
	case bool:
		return "boolean"
	default:
		return "null"
	}
}
