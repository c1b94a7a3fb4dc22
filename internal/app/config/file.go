package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// maxFile is how many bytes a file may have.
const maxFile = 1 << 20

// file takes the file at path.
func (l *loader) file(path string) {
	l.path = path
	text, ok := l.read(path)
	if !ok {
		return
	}
	root := l.document(text)
	switch {
	case root == nil || isNull(root):
	case root.Kind != yaml.MappingNode:
		l.add(l.place(root), "", "expected keys with values, found %s; write them as listen: 127.0.0.1:8080", kindOf(root))
	default:
		l.section(root, "")
	}
}

// read returns the text of the file. However large that is, little of it is read.
func (l *loader) read(path string) (text []byte, ok bool) {
	whole := origin{layer: File, name: path}
	f, err := os.Open(path)
	if err == nil {
		defer f.Close() //nolint:errcheck // nothing was written
		var info fs.FileInfo
		if info, err = f.Stat(); err == nil && info.IsDir() {
			l.add(whole, "", "is a folder; name the file in it")
			return nil, false
		}
	}
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(f, maxFile+1))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.add(whole, "", "there is no such file; correct its name, or leave it out to use the defaults")
	case err != nil:
		l.add(whole, "", "cannot be read: %v; make it readable for the user who runs the server", cause(err))
	case len(text) > maxFile:
		l.add(whole, "", "is larger than 1 MiB, so it is hardly a configuration; name another file")
	default:
		return text, true
	}
	return nil, false
}

// cause returns err without operation and path, which the problem names already.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// document returns the root of the only document in text, nil when there is none or
// a problem.
func (l *loader) document(text []byte) *yaml.Node {
	if !l.readable(string(text)) {
		return nil
	}
	var documents []yaml.Node
	if err := yaml.Load(text, &documents, yaml.WithAllDocuments()); err != nil {
		l.syntax(err, string(text))
		return nil
	}
	if len(documents) > 1 {
		l.add(l.place(&documents[1]), "", "a second document begins here; put all into one, without --- between")
		return nil
	}
	if len(documents) == 0 || len(documents[0].Content) == 0 {
		return nil
	}
	return documents[0].Content[0]
}

// readable reports what YAML does not take for text, where it is.
func (l *loader) readable(text string) bool {
	at := origin{layer: File, name: l.path, line: 1, column: 1}
	for i, r := range text {
		_, width := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && width == 1:
			l.add(at, "", "a byte here is not UTF-8; save the file in that encoding")
			return false
		case r == '\n':
			at.line, at.column = at.line+1, 0
		case r < ' ' && r != '\t' && r != '\r' || r == '\x7f':
			l.add(at, "", "the control character %U is not allowed; remove it", r)
			return false
		}
		at.column++
	}
	return true
}

// syntax reports that text is not YAML.
func (l *loader) syntax(err error, text string) {
	lines := strings.Split(text, "\n")
	found := func(e *yaml.LoadError) {
		at := origin{layer: File, name: l.path, line: e.Mark.Line, column: e.Mark.Column}
		if at.line < 1 {
			at.line, at.column = 0, 0
		}
		if at.line >= 1 && at.line <= len(lines) && strings.Contains(indentation(lines[at.line-1]), "\t") {
			l.add(at, "", "the line begins with a tab; use spaces, YAML has no tabs there")
			return
		}
		context := ""
		if begins := e.ContextMark.Line; begins >= 1 && begins < at.line {
			context = fmt.Sprintf(", in what begins in line %d", begins)
		}
		l.add(at, "", "is not YAML: %s%s", clip(e.Message), context)
	}
	var all *yaml.LoadErrors
	var single *yaml.LoadError
	switch {
	case errors.As(err, &all) && len(all.Errors) > 0:
		for _, e := range all.Errors {
			found(e)
		}
	case errors.As(err, &single):
		found(single)
	default:
		l.add(origin{layer: File, name: l.path}, "", "is not YAML: %s", clip(err.Error()))
	}
}

func indentation(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " \t"))] }
