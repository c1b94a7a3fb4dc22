package strictyaml

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"a2a-server/internal/visible"
)

// MaxFile is how many bytes a file may have.
const MaxFile = 1 << 20

// Open reads the file with the name File. It is not ok when there is a problem.
func (r *Report) Open() (root Node, ok bool) {
	info, err := os.Stat(r.File)
	if err == nil {
		switch {
		case info.IsDir():
			r.Add(Place{}, "", "is a folder; name the file in it")
			return Node{}, false
		case info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0:
			// Opening it could wait forever, and it cannot be read twice.
			r.Add(Place{}, "", "is a pipe or a socket; save what comes from it and name that file")
			return Node{}, false
		}
		var f *os.File
		if f, err = os.Open(r.File); err == nil {
			defer f.Close() //nolint:errcheck // nothing was written
			if root, ok, err = r.Read(f); err == nil {
				return root, ok
			}
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		r.Add(Place{}, "", "there is no such file; correct its name, or leave it out to use the defaults")
		return Node{}, false
	}
	r.Add(Place{}, "", "cannot be read: %v; make it readable for the user who runs the server", Cause(err))
	return Node{}, false
}

// Cause returns err without operation and path, for a problem that names the file.
func Cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// Read reads a file from f, at most [MaxFile] bytes of it. The root of one without a
// value is [Node.Null]. It is not ok when there is a problem; the error is that of f.
func (r *Report) Read(f io.Reader) (root Node, ok bool, err error) {
	text, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return Node{}, false, err
	}
	if len(text) > MaxFile {
		r.Add(Place{}, "", "is larger than %d MiB; make it smaller, or name another file", MaxFile>>20)
		return Node{}, false, nil
	}
	if !r.readable(string(text)) {
		return Node{}, false, nil
	}
	var documents []yaml.Node
	if err := yaml.Load(text, &documents, yaml.WithAllDocuments()); err != nil {
		r.syntax(err, string(text))
		return Node{}, false, nil
	}
	root = Node{report: r}
	switch {
	case len(documents) > 1:
		r.Add(placeOf(&documents[1]), "", "a second document begins here; put all into one, without --- between")
		return Node{}, false, nil
	case len(documents) == 1 && len(documents[0].Content) > 0:
		root.yaml = documents[0].Content[0]
		root.place = placeOf(root.yaml)
	}
	return root, true, nil
}

// readable reports the first thing that YAML does not take for text.
func (r *Report) readable(text string) bool {
	at := Place{1, 1}
	for i, c := range text {
		switch {
		case c == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
			r.Add(at, "", "a byte here is not UTF-8; save the file in that encoding")
			return false
		case c == '\n':
			at = Place{at.Line + 1, 0}
		case c < ' ' && c != '\t' && c != '\r' || c == '\x7f':
			r.Add(at, "", "the control character %U cannot stand here; remove it", c)
			return false
		}
		at.Column++
	}
	return true
}

// syntax reports that text is not YAML.
func (r *Report) syntax(err error, text string) {
	var all *yaml.LoadErrors
	var one *yaml.LoadError
	var found []*yaml.LoadError
	switch {
	case errors.As(err, &all):
		found = all.Errors
	case errors.As(err, &one):
		found = []*yaml.LoadError{one}
	}
	if len(found) == 0 {
		r.Add(Place{}, "", "is not YAML: %s", Clip(err.Error()))
	}
	lines := strings.Split(text, "\n")
	for _, e := range found {
		at := Place{e.Mark.Line, e.Mark.Column}
		if at.Line < 1 {
			at = Place{}
		}
		if at.Line >= 1 && at.Line <= len(lines) && strings.HasPrefix(strings.TrimLeft(lines[at.Line-1], " "), "\t") {
			r.Add(at, "", "the line begins with a tab; use spaces, YAML has no tabs there")
			continue
		}
		context := ""
		if begins := e.ContextMark.Line; begins >= 1 && begins < at.Line {
			context = fmt.Sprintf(", in what begins in line %d", begins)
		}
		r.Add(at, "", "is not YAML: %s%s", Clip(e.Message), context)
	}
}

// maxQuoted is how much of a value a problem repeats, in characters.
const maxQuoted = 60

// Clip returns text as a problem repeats it: on one line, and not all of a long one.
func Clip(text string) string { return visible.Clip(text, maxQuoted) }

// Quote is [Clip] in quotation marks.
func Quote(text string) string { return `"` + Clip(text) + `"` }

// List names alternatives: "a, b and c".
func List(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
