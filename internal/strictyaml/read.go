package strictyaml

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"a2a-server/internal/visible"
)

// MaxFile is the maximum size of a file, in bytes.
const MaxFile = 1 << 20

// Stat returns why the file at path cannot be read: [fs.ErrNotExist], or an error whose text
// is fit for a [Problem]. It does not open the file.
func Stat(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fs.ErrNotExist
	case err != nil:
		return unreadable(err)
	case info.IsDir():
		return errors.New("is a folder; name the file in it")
	case info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0:
		// Opening it could block forever, and it cannot be read twice.
		return errors.New("is a pipe or a socket; save its output and name that file")
	}
	return nil
}

// Open is [Report.Parse] for the file at path, which may have [MaxFile] bytes. If the file cannot be read, that is a
// problem, and ok is false.
func (r *Report) Open(path string) (root Node, ok bool) {
	text, err := readFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.Add(Place{}, "", "there is no such file; correct its name, or leave it out to use the defaults")
	case err != nil:
		r.Add(Place{}, "", "%v", err)
	case len(text) > MaxFile:
		r.Add(Place{}, "", "is larger than %d MiB; make it smaller, or name another file", MaxFile>>20)
	default:
		return r.Parse(text)
	}
	return Node{}, false
}

// readFile returns the file at path, or a byte more than [MaxFile] of it.
func readFile(path string) ([]byte, error) {
	if err := Stat(path); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, unreadable(err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	text, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		err = unreadable(err)
	}
	return text, err
}

// unreadable returns err without operation and path, which problems have anyway.
func unreadable(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return fmt.Errorf("cannot be read: %w; make it readable for the user who runs the server", err)
}

// Parse parses text of limited size. The root of a file without a value is [Node.Null]. If it is not valid, ok is false
// and a problem has been added.
func (r *Report) Parse(text []byte) (root Node, ok bool) {
	if !r.readable(string(text)) {
		return Node{}, false
	}
	r.lines = strings.Split(string(text), "\n")
	var documents []yaml.Node
	if err := yaml.Load(text, &documents, yaml.WithAllDocuments()); err != nil {
		r.syntax(err)
		return Node{}, false
	}
	root = Node{report: r, path: r.Root, place: Place{1, 1}}
	switch {
	case len(documents) > 1:
		r.Add(placeOf(&documents[1]), "", "a second document begins here; put everything into one document, without ---")
		return Node{}, false
	case len(documents) == 1 && len(documents[0].Content) > 0:
		root.yaml = documents[0].Content[0]
		root.place = placeOf(root.yaml)
	}
	return root, true
}

// readable adds a problem for the first byte or character that YAML does not allow.
func (r *Report) readable(text string) bool {
	at := Place{1, 1}
	for i, c := range text {
		switch {
		case c == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
			r.Add(at, "", "a byte here is not UTF-8; save the file in that encoding")
			return false
		case c == '\n':
			at = Place{at.Line + 1, 0}
		case unicode.IsControl(c) && c != '\t' && c != '\r', c == '\u2028', c == '\u2029': // the last two are new lines only to YAML 1.1
			r.Add(at, "", "the control character %U is not allowed; remove it", c)
			return false
		}
		at.Column++
	}
	return true
}

// syntax adds the problems of text that is not YAML.
func (r *Report) syntax(err error) {
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
		r.Add(Place{}, "", "is not YAML: %s", clip(err.Error()))
	}
	for _, e := range found {
		at := Place{e.Mark.Line, e.Mark.Column}
		if at.Line < 1 {
			at = Place{}
		}
		if at.Line >= 1 && at.Line <= len(r.lines) && strings.HasPrefix(strings.TrimLeft(r.lines[at.Line-1], " "), "\t") {
			r.Add(at, "", "the line begins with a tab; use spaces, YAML has no tabs there")
			continue
		}
		context := ""
		if begins := e.ContextMark.Line; begins >= 1 && begins < at.Line {
			context = fmt.Sprintf(", in the value that begins on line %d", begins)
		}
		if strings.HasPrefix(e.Message, "unknown anchor") { // its name may be a secret
			r.Add(at, "", "is not YAML: a value begins with *, which is an alias; put the value in quotes")
			continue
		}
		r.Add(at, "", "is not YAML: %s%s", clip(e.Message), context)
	}
}

// maxQuoted is how many characters of a value a problem repeats.
const maxQuoted = 60

func clip(text string) string { return visible.Clip(text, maxQuoted) }

// List returns names as in "a, b and c".
func List(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
