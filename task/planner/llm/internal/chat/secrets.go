package chat

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// secrets are the values of the headers of a request that its server may repeat.
type secrets []string

// minSecret is the length from which the value of a header may be a secret.
const minSecret = 6

// secretsOf returns the values of headers, without the schemes of authorization. The longest is
// the first.
func secretsOf(sent http.Header) (all secrets) {
	for name, values := range sent {
		for _, v := range values {
			if _, after, is := strings.Cut(v, " "); is && strings.HasSuffix(name, "Authorization") {
				v = strings.TrimSpace(after)
			}
			if len(v) >= minSecret {
				all = append(all, v)
			}
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return all
}

// maxDetail bounds the text of another side in the log, in bytes.
const maxDetail = 2 << 10

// limit is how much of a text clip needs, in bytes: a secret at its end has to be whole, also if
// each of its characters is escaped.
func (s secrets) limit() int {
	if len(s) == 0 {
		return maxDetail
	}
	return maxDetail + len(`\u0000`)*len(s[0])
}

// clip returns the beginning of a text for the log, without the secrets.
func (s secrets) clip(text string) string {
	text = text[:min(len(text), s.limit())]
	var kept strings.Builder
	from := 0
	for _, at := range s.find(text) {
		if at[0] >= maxDetail {
			break
		}
		kept.WriteString(text[from:at[0]] + "•••")
		from = at[1]
	}
	if end := min(len(text), maxDetail); from < end {
		kept.WriteString(text[from:end])
	}
	return strings.TrimSpace(kept.String())
}

// find returns where a text has secrets, as they are or with characters escaped as in JSON.
func (s secrets) find(text string) [][]int {
	if len(s) == 0 {
		return nil
	}
	var pattern strings.Builder
	for i, secret := range s {
		if i > 0 {
			pattern.WriteByte('|')
		}
		for _, r := range secret {
			fmt.Fprintf(&pattern, `\\*(?:%s|u(?i:%04x))`, regexp.QuoteMeta(string(r)), r)
		}
	}
	all, err := regexp.Compile(pattern.String())
	if err != nil { // too large
		return [][]int{{0, len(text)}}
	}
	return all.FindAllStringIndex(text, -1)
}
