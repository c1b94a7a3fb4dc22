package mcptoolset

import (
	"cmp"
	"encoding/json"
	"fmt"
	"mime"
	"net/url"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"a2a-server/internal/strictjson"
	"a2a-server/internal/visible"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// The limits of a result that cannot be configured. Its length is that of a
// message.
const (
	maxBlocks = 1000 // of content; of more, their number is told
	maxURL    = 2 << 10
	maxType   = 127
	maxFile   = 200 // characters of the name of a file
)

// Content is the name of the artifact that has the content beside structured content.
const contentArtifact = "content"

// declinedNote is added to a call with a declined question.
const declinedNote = "the server asked a question while the call ran, which was declined"

// results returns the yields of a call. note, if not empty, explains a declined question.
func results(res *mcp.CallToolResult, note string) []*tool.Result {
	structured := cleaned(res.StructuredContent)
	var parts []agent.Part
	for i, c := range res.Content {
		if i == maxBlocks {
			parts = append(parts, agent.Part{Text: fmt.Sprintf("%d more blocks of content were dropped", len(res.Content)-maxBlocks)})
			break
		}
		parts = append(parts, partOf(c))
	}
	final := &tool.Result{}
	if note != "" {
		final.Metadata = map[string]any{"mcp": note}
	}
	if res.IsError {
		final.Error = errorText(parts, structured)
		if note != "" {
			final.Error += " (" + note + ")"
		}
		return []*tool.Result{final}
	}
	if structured == nil {
		final.Content = contentOf(parts)
		return []*tool.Result{final}
	}
	final.Content = structured
	if !strictjson.Exact(structured) { // the library makes doubles of numbers, and ids of 64 bits are none
		if text, ok := wholeText(parts); ok {
			final.Content = text
		}
	}
	var beside []agent.Part
	for _, p := range parts {
		if !repeats(p, structured) && (!isText(p) || p.Text != final.Content) {
			beside = append(beside, p)
		}
	}
	if len(beside) == 0 {
		return []*tool.Result{final}
	}
	return []*tool.Result{{Content: beside, Streaming: true, Artifact: contentArtifact}, final}
}

// contentOf returns a single text as a string, and anything else as parts.
func contentOf(parts []agent.Part) any {
	switch {
	case len(parts) == 0:
		return ""
	case len(parts) == 1 && isText(parts[0]):
		return parts[0].Text
	}
	return parts
}

func isText(p agent.Part) bool { return p.Raw == nil && p.URL == "" && p.MediaType == "" }

// repeats reports whether a part is the structured content as a text, which servers add
// for clients that do not know structured content: its JSON, or its only text.
func repeats(p agent.Part, structured any) bool {
	if !isText(p) {
		return false
	}
	if object, ok := structured.(map[string]any); ok && len(object) == 1 {
		for _, only := range object {
			if only == p.Text {
				return true
			}
		}
	}
	v, err := strictjson.Decode([]byte(p.Text))
	return err == nil && reflect.DeepEqual(v, structured)
}

// errorText returns the text of a tool's error.
func errorText(parts []agent.Part, structured any) string {
	var texts []string
	for _, p := range parts {
		if p.Raw == nil && p.URL == "" && strings.TrimSpace(p.Text) != "" {
			texts = append(texts, p.Text)
		}
	}
	if len(texts) == 0 && structured != nil {
		if raw, err := json.Marshal(structured); err == nil {
			texts = append(texts, string(raw))
		}
	}
	if len(texts) == 0 {
		return "the tool reports an error and does not say which"
	}
	return visible.ClipText(strings.Join(texts, "\n"), maxErrorText)
}

// partOf returns a block of content as a part.
func partOf(c mcp.Content) agent.Part {
	switch c := c.(type) {
	case *mcp.TextContent:
		return agent.Part{Text: valid(c.Text)}
	case *mcp.ImageContent:
		return agent.Part{Raw: bytesOf(c.Data), MediaType: mediaType(c.MIMEType)}
	case *mcp.AudioContent:
		return agent.Part{Raw: bytesOf(c.Data), MediaType: mediaType(c.MIMEType)}
	case *mcp.EmbeddedResource:
		return resource(c.Resource)
	case *mcp.ResourceLink:
		return linkTo(c.URI, cmp.Or(c.Name, c.Title), c.MIMEType)
	}
	return agent.Part{Text: "content of a kind that is not known here was dropped"}
}

func resource(r *mcp.ResourceContents) agent.Part {
	if r == nil {
		return agent.Part{Text: "an embedded resource without content was dropped"}
	}
	p := agent.Part{Text: valid(r.Text), Filename: fileName(r.URI), Metadata: map[string]any{"uri": visible.Clip(r.URI, maxURL)}}
	if r.Blob != nil {
		p.Text, p.Raw = "", r.Blob
	}
	if r.MIMEType != "" || r.Blob != nil {
		p.MediaType = mediaType(r.MIMEType)
	}
	return p
}

// linkTo returns a link. An executable or unreadable link becomes text.
func linkTo(uri, name, kind string) agent.Part {
	u, err := url.Parse(uri)
	if err != nil || len(uri) > maxURL || visible.Line(uri) != uri ||
		slices.Contains([]string{"", "javascript", "data", "vbscript", "blob"}, strings.ToLower(u.Scheme)) {
		return agent.Part{Text: "a link that cannot be used: " + visible.Clip(uri, maxURL)}
	}
	p := agent.Part{URL: uri, Filename: visible.Clip(name, maxFile)}
	if kind != "" {
		p.MediaType = mediaType(kind)
	}
	return p
}

// bytesOf returns a part's bytes, which are not nil.
func bytesOf(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// mediaType returns the type that a server gives, or that of unknown bytes.
func mediaType(kind string) string {
	if _, _, err := mime.ParseMediaType(kind); err != nil || len(kind) > maxType || visible.Line(kind) != kind {
		return "application/octet-stream"
	}
	return kind
}

// fileName is the last element of a URI.
func fileName(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Path == "" {
		return ""
	}
	name := path.Base(u.Path)
	if name == "/" || name == "." || name == ".." {
		return ""
	}
	return visible.Clip(name, maxFile)
}

func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// cleaned returns a JSON value with valid text.
func cleaned(v any) any {
	switch v := v.(type) {
	case string:
		return valid(v)
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			out[i] = cleaned(one)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, one := range v {
			out[valid(name)] = cleaned(one)
		}
		return out
	}
	return v
}

// wholeText returns the part that has the structured content as JSON, with all its digits.
func wholeText(parts []agent.Part) (string, bool) {
	for _, p := range parts {
		if t := strings.TrimSpace(p.Text); isText(p) && (strings.HasPrefix(t, "{") || strings.HasPrefix(t, "[")) && json.Valid([]byte(t)) {
			return p.Text, true
		}
	}
	return "", false
}
