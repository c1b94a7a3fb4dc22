package searchtool

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/char/asciifolding"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/analysis/token/porter"
)

// maxWord bounds a word, in bytes: longer words, such as encoded data, are not indexed.
const maxWord = 64

// words is the analyzer of documents and queries. A word is a run of letters and digits, in lower
// case, without accents, and without English endings. In scripts that write no spaces, each
// character is a word. The zero value is ready, and safe for concurrent use.
type words struct{}

// Analyze implements [analysis.Analyzer].
func (words) Analyze(text []byte) analysis.TokenStream {
	if bytes.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
		text = asciifolding.New().Filter(text)
	}
	var all analysis.TokenStream
	word, plain := []byte{}, true
	end := func() {
		if n := len(word); n > 0 && n <= maxWord {
			all = append(all, &analysis.Token{Term: bytes.Clone(word), Position: len(all) + 1, Type: analysis.AlphaNumeric, KeyWord: !plain})
		}
		word, plain = word[:0], true
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		i += size
		switch {
		case r >= 0x300 && r <= 0x36F: // an accent by itself
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
			end()
			word, plain = utf8.AppendRune(word, r), false
			end()
		case unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r):
			if len(word) <= maxWord {
				r = unicode.ToLower(r)
				word, plain = utf8.AppendRune(word, r), plain && r >= 'a' && r <= 'z'
			}
		default:
			end()
		}
	}
	end()
	return porter.NewPorterStemmer().Filter(all)
}

// maxTerms bounds the different words of a query.
const maxTerms = 32

// terms returns the different words of a query, without those that nearly every English text has
// unless there are no others.
func terms(query string) []string {
	var all, telling []string
	seen := map[string]bool{}
	common := analysis.NewTokenMap()
	_ = common.LoadBytes(en.EnglishStopWords) // a constant of the library
	for word := range strings.FieldsFuncSeq(query, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) }) {
		for _, t := range (words{}).Analyze([]byte(word)) {
			term := string(t.Term)
			if seen[term] || len(all) == maxTerms {
				continue
			}
			seen[term] = true
			if all = append(all, term); !common[strings.ToLower(word)] {
				telling = append(telling, term)
			}
		}
	}
	if len(telling) > 0 {
		return telling
	}
	return all
}
