package script

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// maxRendered bounds the output of a step, in bytes. The script may repeat the message's text
// any number of times, and the sender chose its length.
const maxRendered = 16 << 20

// renderer fills in templates. After an error it only returns empty values.
type renderer struct {
	message, id string
	replace     *strings.Replacer
	size        int // bytes so far
	err         error
}

func newRenderer(m *a2a.Message) *renderer {
	text := textOf(m)
	return &renderer{message: text, id: m.ID, replace: strings.NewReplacer("{text}", text, "{message_id}", m.ID)}
}

func (w *renderer) text(s string) string {
	if !w.fits(s) {
		return ""
	}
	return w.replace.Replace(s)
}

// numbered fills in s, with n for {n}. Everything is replaced in a single pass: text from the
// message is never a template.
func (w *renderer) numbered(s, n string) string {
	if !w.fits(s) {
		return ""
	}
	return strings.NewReplacer("{text}", w.message, "{message_id}", w.id, "{n}", n).Replace(s)
}

// fits adds the size of the rendered s before it is rendered, and reports whether it fits.
func (w *renderer) fits(s string) bool {
	return w.count(len(s) + strings.Count(s, "{text}")*len(w.message) + strings.Count(s, "{message_id}")*len(w.id))
}

func (w *renderer) count(n int) bool {
	w.size += n
	if w.size > maxRendered && w.err == nil {
		w.err = fmt.Errorf("the output of one step exceeds %d bytes; use {text} less often, or send a shorter message", maxRendered)
	}
	return w.err == nil
}

func (w *renderer) parts(c content) a2a.ContentParts {
	all := make(a2a.ContentParts, 0, len(c))
	for _, p := range c {
		if w.err != nil {
			return nil
		}
		all = append(all, w.part(p))
	}
	return all
}

func (w *renderer) part(p part) *a2a.Part {
	made := &a2a.Part{MediaType: p.mediaType, Filename: w.text(p.filename), Metadata: w.object(p.metadata)}
	switch {
	case p.text != nil:
		made.Content = a2a.Text(w.text(*p.text))
	case p.url != nil:
		made.Content = a2a.URL(w.text(*p.url))
	case p.fileText != nil:
		made.Content = a2a.Raw(w.text(*p.fileText))
	case p.bytes != nil:
		w.count(len(p.bytes))
		made.Content = a2a.Raw(bytes.Clone(p.bytes))
	case p.data != nil:
		made.Content = a2a.Data{Value: w.value(*p.data)}
	}
	return made
}

// object returns nil for nil.
func (w *renderer) object(m map[string]any) map[string]any {
	if m == nil {
		return nil
	}
	all := make(map[string]any, len(m))
	for key, v := range m {
		w.count(len(key))
		all[key] = w.value(v)
	}
	return all
}

// value returns a rendered copy: published values must not share maps with the script.
func (w *renderer) value(v any) any {
	switch v := v.(type) {
	case string:
		return w.text(v)
	case map[string]any:
		return w.object(v)
	case []any:
		all := make([]any, len(v))
		for i := range v {
			all[i] = w.value(v[i])
		}
		return all
	}
	return v
}
