package deptest

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The most vague pronouns per 1,000 words: of all comments together, tests left out, and of each
// page of more than 500 words, code and tables' keys left out (docs/style.md).
const (
	vagueInComments = 7
	vagueInPages    = 7
)

var vague = map[string]bool{
	"what": true, "who": true, "whoever": true, "whose": true, "those": true, "one": true, "ones": true,
	"somebody": true, "nobody": true, "anybody": true, "everybody": true, "others": true,
}

var (
	commentLine = regexp.MustCompile(`(?m)^\s*//\s?(.*)$`)
	codeBlock   = regexp.MustCompile("(?s)\n```.*?\n```|`[^`\n]*`")
	word        = regexp.MustCompile(`[A-Za-z']+`)
)

// wordCount counts the words of a text, and the vague ones among them.
type wordCount struct{ words, vague int }

func (c *wordCount) add(text string) {
	for _, w := range word.FindAllString(text, -1) {
		c.words++
		if vague[strings.ToLower(w)] {
			c.vague++
		}
	}
}

// perThousand returns the vague pronouns per 1,000 words.
func (c *wordCount) perThousand() float64 { return 1000 * float64(c.vague) / float64(max(1, c.words)) }

// TestStyle counts vague pronouns in comments and pages, as docs/style.md limits them.
func TestStyle(t *testing.T) {
	t.Parallel()
	root := os.DirFS("../..")
	var comments wordCount
	err := fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && foreign(d.Name()):
			return fs.SkipDir
		case d.IsDir() || strings.HasSuffix(file, "_test.go") || !slices.Contains([]string{".go", ".md"}, path.Ext(file)):
			return nil
		}
		text, err := fs.ReadFile(root, file)
		if err != nil {
			return err
		}
		if path.Ext(file) == ".go" {
			for _, m := range commentLine.FindAllSubmatch(text, -1) {
				comments.add(string(m[1]))
			}
			return nil
		}
		var page wordCount
		page.add(codeBlock.ReplaceAllString(string(text), ""))
		if got := page.perThousand(); page.words > 500 && got > vagueInPages {
			t.Errorf("%s has %.1f vague pronouns per 1,000 words, want at most %d (docs/style.md)", file, got, vagueInPages)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := comments.perThousand(); got > vagueInComments || comments.words < 10_000 {
		t.Errorf("%d words of comments have %.1f vague pronouns per 1,000, want at most %d (docs/style.md)", comments.words, got, vagueInComments)
	}
}
