package deptest

import (
	"io/fs"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const styleFile = "docs/style.md"

// TestStyle finds the phrases that docs/style.md says not to write.
func TestStyle(t *testing.T) {
	t.Parallel()
	root := os.DirFS("../..")
	doc, err := fs.ReadFile(root, styleFile)
	if err != nil {
		t.Fatal(err)
	}
	phrases := parsePhrases(string(doc))
	if len(phrases) < 10 {
		t.Fatalf("%s has %d rows of phrases; its table could not be read", styleFile, len(phrases))
	}
	out, err := exec.Command("git", "-C", "../..", "ls-files", "-z").Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	read := 0
	for file := range strings.SplitSeq(strings.Trim(string(out), "\x00"), "\x00") {
		if !written(file) {
			continue
		}
		text, err := fs.ReadFile(root, file)
		if os.IsNotExist(err) {
			continue // removed, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		read++
		for _, f := range findPhrases(phrases, string(text)) {
			t.Errorf("%s:%d: %q: write %s (%s)", file, f.line, f.text, f.instead, styleFile)
		}
	}
	if read < 100 {
		t.Errorf("only %d files were read", read)
	}
}

func TestFindPhrases(t *testing.T) {
	t.Parallel()
	phrases := parsePhrases("| do | not read |\n|---|---|\n| `x` | y |\n\n" +
		"| not | write | fine |\n|---|---|---|\n| `made of`, `built … of` | from | `made of stone` |\n| `. Over,` | more | |\n\nmade of\n")
	if len(phrases) != 2 {
		t.Fatalf("%d rows were read, want 2", len(phrases))
	}
	for name, tt := range map[string]struct {
		text string
		want []finding
	}{
		"none":             {"a house of wood\n", nil},
		"one":              {"x\nMade of wood\n", []finding{{2, "made of", "from"}}},
		"a gap":            {"built badly of wood", []finding{{1, "built badly of", "from"}}},
		"over two lines":   {"x\n\t// it is made\n\t// of wood", []finding{{2, "made of", "from"}}},
		"within a word":    {"handmade often", nil},
		"fine":             {"made of stone, made of wood", []finding{{1, "made of", "from"}}},
		"ends in no word":  {"ten. Over, more is refused", []finding{{1, ". over,", "more"}}},
		"other paragraphs": {"made\n\nof", nil},
	} {
		got := findPhrases(phrases, tt.text)
		if len(got) != len(tt.want) {
			t.Errorf("%s: findPhrases() = %v, want %v", name, got, tt.want)
			continue
		}
		for i, f := range got {
			if f != tt.want[i] {
				t.Errorf("%s: findPhrases() = %v, want %v", name, got, tt.want)
			}
		}
	}
}

// written reports whether people write and read a tracked file: code, documents and
// settings, but not the style guide itself, nor testdata, whose forms are frozen.
func written(file string) bool {
	if file == styleFile || strings.Contains(file, "testdata/") {
		return false
	}
	switch path.Ext(file) {
	case ".go", ".md", ".yaml", ".yml", ".sh":
		return true
	}
	return path.Base(file) == "Makefile" || strings.HasPrefix(file, ".ci/")
}

// phrase is a row of the style guide's table.
type phrase struct {
	not     []pattern
	fine    []pattern
	instead string
}

// pattern finds a phrase. word is its longest word: a text without it is not searched.
type pattern struct {
	word string
	re   *regexp.Regexp
}

type finding struct {
	line    int
	text    string
	instead string
}

var quoted = regexp.MustCompile("`([^`]+)`")

// parsePhrases reads the table whose columns are not, write and fine.
func parsePhrases(doc string) (phrases []phrase) {
	within := false
	for line := range strings.Lines(doc) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 3 {
			within = false
			continue
		}
		if strings.TrimSpace(cells[0]) == "not" {
			within = true
		} else if not := patterns(cells[0]); within && len(not) > 0 {
			phrases = append(phrases, phrase{not: not, fine: patterns(cells[2]), instead: strings.TrimSpace(cells[1])})
		}
	}
	return phrases
}

// patterns returns the phrases that a cell quotes. They match lower-case text, also
// where a comment breaks them over two lines; … is any one word.
func patterns(cell string) (all []pattern) {
	const gap = `(?:[ \t]+|[ \t]*\n[ \t]*(?://|#)?[ \t]*)`
	for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
		var p pattern
		words := strings.Fields(strings.ToLower(m[1]))
		for i, word := range words {
			if word == "…" {
				words[i] = `\S+`
				continue
			}
			if len(word) > len(p.word) {
				p.word = word
			}
			words[i] = regexp.QuoteMeta(word)
		}
		expr := strings.Join(words, gap)
		if inWord(m[1][len(m[1])-1]) {
			expr += `\b`
		}
		p.re = regexp.MustCompile(expr)
		all = append(all, p)
	}
	return all
}

func inWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}

// find returns where the patterns match a lower-case text. That a match begins a word
// is looked at last: an expression that begins with plain text is found much faster.
func find(all []pattern, text string) (found [][]int) {
	for _, p := range all {
		if !strings.Contains(text, p.word) {
			continue
		}
		for _, at := range p.re.FindAllStringIndex(text, -1) {
			if at[0] == 0 || !inWord(text[at[0]]) || !inWord(text[at[0]-1]) {
				found = append(found, at)
			}
		}
	}
	return found
}

// unbroken is a phrase without what breaks it over lines.
var unbroken = strings.NewReplacer("//", " ", "#", " ")

func findPhrases(phrases []phrase, text string) (found []finding) {
	text = strings.ToLower(text)
	for _, p := range phrases {
		for _, at := range find(p.not, text) {
			if slices.ContainsFunc(find(p.fine, text), func(f []int) bool { return f[0] <= at[0] && at[1] <= f[1] }) {
				continue
			}
			found = append(found, finding{
				line:    1 + strings.Count(text[:at[0]], "\n"),
				text:    strings.Join(strings.Fields(unbroken.Replace(text[at[0]:at[1]])), " "),
				instead: p.instead,
			})
		}
	}
	return found
}
