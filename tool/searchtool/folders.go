package searchtool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"a2a-server/internal/visible"
)

// defaultExtensions are the extensions of files that [Folders] has if none are chosen.
var defaultExtensions = []string{"md", "markdown", "txt", "html", "htm", "json"}

const (
	maxEntries = 2_000_000       // files and folders that a scan looks at
	maxDepth   = 64              // folders in each other
	settling   = 2 * time.Second // a file may change again within the resolution of its time
	listPage   = 1000
)

// Folders is the [Source] of the files in folders, and in the folders below them. It reads
// regular files only and follows no symbolic links, so that nothing outside of the folders is
// read. Files and folders whose names begin with a dot are left out, and so are names with
// control characters or invalid UTF-8. The version of a file is its size and the time of its
// last change.
type Folders struct {
	// Paths are the folders. If there are several, the paths of documents begin with the last
	// element of their folder's path, which has to differ.
	Paths []string
	// Extensions are the extensions of the files, without a dot, in any case. Defaults to
	// md, markdown, txt, html, htm and json.
	Extensions []string
}

// Check returns the error that [Folders.Documents] would return now.
func (f *Folders) Check() error {
	for _, folder := range f.Paths {
		root, err := openRoot(folder)
		if err != nil {
			return err
		}
		if err := root.Close(); err != nil {
			return err
		}
	}
	return nil
}

func openRoot(folder string) (*os.Root, error) {
	if info, err := os.Stat(folder); err == nil && !info.IsDir() { // opening a pipe waits for its writer
		return nil, fmt.Errorf("open the folder that is searched: %s is not a directory", folder)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("open the folder that is searched: %w", err)
	}
	return root, nil
}

// prefix returns how the paths of the documents in a folder begin.
func (f *Folders) prefix(folder string) string {
	if len(f.Paths) == 1 {
		return ""
	}
	return filepath.Base(folder) + "/"
}

// Documents implements [Source].
func (f *Folders) Documents(ctx context.Context, limit int) (all []Document, omitted string, err error) {
	l := listing{ctx: ctx, limit: limit, extensions: f.Extensions}
	if len(l.extensions) == 0 {
		l.extensions = defaultExtensions
	}
	for _, folder := range f.Paths {
		root, err := openRoot(folder)
		if err != nil {
			return nil, "", err
		}
		if err := errors.Join(l.root(f.prefix(folder), root), root.Close()); err != nil {
			return nil, "", err
		}
	}
	slices.SortFunc(l.all, func(a, b Document) int { return strings.Compare(a.Path, b.Path) })
	return l.all, strings.Join(l.omitted, "; "), nil
}

// listing is a run of [Folders.Documents].
type listing struct {
	ctx        context.Context //nolint:containedctx // of this run
	limit      int
	extensions []string
	all        []Document
	omitted    []string
	entries    int
}

func (l *listing) omit(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(l.omitted, text) && len(l.omitted) < 5 {
		l.omitted = append(l.omitted, text)
	}
}

// root adds the files of a folder, and of the folders below it.
func (l *listing) root(prefix string, root *os.Root) error {
	for folders := []string{"."}; len(folders) > 0; {
		next := folders[len(folders)-1]
		folders = folders[:len(folders)-1]
		below, err := l.folder(prefix, root, next)
		switch {
		case err != nil && (next == "." || l.ctx.Err() != nil):
			return err
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			l.omit("a folder cannot be read: %s", visible.Shorten(err.Error(), 200))
		}
		folders = append(folders, below...)
	}
	return nil
}

// folder adds the files of a folder, and returns the folders in it.
func (l *listing) folder(prefix string, root *os.Root, name string) (below []string, err error) {
	f, err := openIn(root, name, syscall.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	for {
		if l.ctx.Err() != nil {
			return nil, context.Cause(l.ctx)
		}
		entries, err := f.ReadDir(listPage)
		for _, e := range entries {
			if l.entries++; l.entries > maxEntries {
				l.omit("the folders have more than %d entries, and the others are not searched: name a smaller folder", maxEntries)
				return nil, nil
			}
			if strings.HasPrefix(e.Name(), ".") {
				continue
			}
			full := path.Join(name, e.Name())
			switch {
			case e.IsDir() && strings.Count(full, "/") >= maxDepth:
				l.omit("folders more than %d deep are not searched", maxDepth)
			case e.IsDir() && speakable(e.Name()):
				below = append(below, full)
			case e.Type().IsRegular() && l.wanted(e.Name()):
				l.file(prefix+full, e)
			}
		}
		if errors.Is(err, io.EOF) {
			return below, nil
		}
		if err != nil {
			return below, err
		}
	}
}

// wanted reports whether a file has one of the extensions.
func (l *listing) wanted(name string) bool {
	extension := strings.TrimPrefix(path.Ext(name), ".")
	if !slices.ContainsFunc(l.extensions, func(e string) bool { return strings.EqualFold(e, extension) }) {
		return false
	}
	if !speakable(name) {
		l.omit("files whose names have control characters or are not UTF-8 are not searched")
		return false
	}
	return true
}

func (l *listing) file(name string, e fs.DirEntry) {
	info, err := e.Info()
	switch {
	case err != nil:
		return // it is gone
	case len(l.all) >= l.limit:
		l.omit("the folders have more than %d files, and the others are not searched: name a smaller folder, or fewer extensions", l.limit)
		return
	}
	l.all = append(l.all, Document{Path: name, Version: versionOf(info), Size: info.Size()})
}

func versionOf(info fs.FileInfo) string {
	return fmt.Sprintf("%d-%d", info.Size(), info.ModTime().UnixNano())
}

// speakable reports whether a name can be shown as it is.
func speakable(name string) bool {
	return utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || visible.Invisible(r) })
}

// Read implements [Source].
func (f *Folders) Read(_ context.Context, name string, limit int64) (content []byte, version string, err error) {
	for _, folder := range f.Paths {
		own, is := strings.CutPrefix(name, f.prefix(folder))
		if !is || !filepath.IsLocal(own) {
			continue
		}
		root, err := openRoot(folder)
		if err != nil {
			return nil, "", err
		}
		content, version, err = read(root, own, limit)
		return content, version, errors.Join(err, root.Close())
	}
	return nil, "", fs.ErrNotExist
}

// openIn opens a file or a folder below root for reading. None of the elements of its name may be a
// symbolic link, not even since it was listed.
func openIn(root *os.Root, name string, flags int) (*os.File, error) {
	element, below, more := strings.Cut(name, "/")
	if more {
		next, err := root.OpenRoot(element)
		if err != nil {
			return nil, err
		}
		defer func() { _ = next.Close() }() // it was only read
		opened, err := next.Stat(".")
		if err == nil {
			err = noLink(root, element, opened)
		}
		if err != nil {
			return nil, err
		}
		return openIn(next, below, flags)
	}
	// Opening a pipe would otherwise wait for a writer.
	f, err := root.OpenFile(element, os.O_RDONLY|syscall.O_NONBLOCK|flags, 0)
	if err != nil {
		return nil, err
	}
	opened, err := f.Stat()
	if err == nil {
		err = noLink(root, element, opened)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// noLink returns an error if a file was not opened by its own name, but by a symbolic link.
func noLink(root *os.Root, element string, opened fs.FileInfo) error {
	named, err := root.Lstat(element)
	if err == nil && !os.SameFile(named, opened) {
		err = errors.New("it is or was a symbolic link")
	}
	return err
}

func read(root *os.Root, name string, limit int64) (content []byte, version string, err error) {
	f, err := openIn(root, name, 0)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil, "", err
	}
	if !info.Mode().IsRegular() {
		return nil, "", errors.New("it is not a regular file")
	}
	content, err = io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, "", err
	case int64(len(content)) > limit:
		return nil, "", fmt.Errorf("it has more than %d bytes", limit)
	}
	version = versionOf(info)
	if time.Since(info.ModTime()).Abs() < settling {
		version += "-new" // the next scan reads it again
	}
	return content, version, nil
}
