package searchtool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
)

// errFull says that the disk has no room for the index.
var errFull = errors.New("the disk of the index is full")

// scan is a run over the documents of a source.
type scan struct {
	*keeper
	x     *passageIndex
	batch *batch
	began time.Time // the batch

	pending map[string]string // versions of the documents in the batch; "": it is removed
	seen    int               // documents up to the batch
	large   int               // documents that are left out because of their size
	strange int               // because they are no text, or cannot be read
	example string            // one of these
	left    []string
}

// run indexes the documents with other versions than in the index, and removes documents that are
// gone.
func (s *scan) run(ctx context.Context, all []Document) error {
	s.pending = map[string]string{}
	text, known := int64(0), map[string]bool{}
	for i := range all {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		d := &all[i]
		if d.Size > s.limits.document {
			s.large++
			continue
		}
		if text += d.Size; text > s.limits.text {
			s.left = append(s.left, fmt.Sprintf("the documents have more than %d MiB, and %d of them are not searched: choose fewer", s.limits.text>>20, len(all)-i))
			break
		}
		known[d.Path] = true
		if err := s.document(ctx, d); err != nil {
			return err
		}
		if s.seen = i + 1; s.batch.size >= batchSize || len(s.pending) > 0 && time.Since(s.began) > batchTime {
			if err := s.commit(); err != nil {
				return err
			}
		}
	}
	for path := range s.versions {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !known[path] {
			if err := s.replace(path, "", nil); err != nil {
				return err
			}
			if s.batch.size >= batchSize {
				if err := s.commit(); err != nil {
					return err
				}
			}
		}
	}
	for path := range s.unread {
		if !known[path] {
			delete(s.unread, path)
		}
	}
	s.seen = len(all)
	if err := s.commit(); err != nil {
		return err
	}
	if s.large > 0 {
		s.left = append(s.left, fmt.Sprintf("%d documents have more than %d KiB and are not searched", s.large, s.limits.document>>10))
	}
	if s.strange > 0 {
		s.left = append(s.left, fmt.Sprintf("%d documents cannot be read or are no text, such as %s", s.strange, s.example))
	}
	return nil
}

// document adds a document to the batch if its version has changed.
func (s *scan) document(ctx context.Context, d *Document) error {
	if s.versions[d.Path] == d.Version {
		return nil
	}
	if u, is := s.unread[d.Path]; is && u.version == d.Version {
		s.skip(d.Path, u)
		return nil
	}
	content, version, err := s.source.Read(ctx, d.Path, s.limits.document)
	var all []passage
	text := false
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, fs.ErrNotExist):
		return s.replace(d.Path, "", nil) // it has just been removed
	case err == nil && !strings.Contains(d.Path+version, separator):
		all, text = passages(d.Path, content)
	}
	if len(all) == 0 {
		s.skip(d.Path, unread{version: d.Version, strange: !text})
		return s.replace(d.Path, "", nil)
	}
	delete(s.unread, d.Path)
	return s.replace(d.Path, version, all)
}

// skip leaves out a document.
func (s *scan) skip(path string, u unread) {
	s.unread[path] = u
	if u.strange {
		s.strange++
		s.example = path
	}
}

// replace has the batch replace the passages of a document. version is "" if there are none.
func (s *scan) replace(path, version string, all []passage) error {
	_, indexed := s.versions[path]
	if !indexed && len(all) == 0 {
		return nil
	}
	if len(s.pending) == 0 {
		s.began = time.Now()
	}
	s.batch.add(path, version, all)
	if indexed {
		ids, err := s.x.ids(path)
		if err != nil {
			return err
		}
		s.batch.remove(ids)
	}
	s.pending[path] = version
	return nil
}

// commit writes the batch.
func (s *scan) commit() error {
	if len(s.pending) > 0 {
		if free, known := diskFree(s.home); known && free < s.limits.diskFree {
			return fmt.Errorf("%w: it has %d MiB left, and %d MiB stay free for others", errFull, free>>20, s.limits.diskFree>>20)
		}
		if err := s.x.write(s.batch); err != nil {
			return fmt.Errorf("write the index: %w", err)
		}
		for path, version := range s.pending {
			if version == "" {
				delete(s.versions, path)
			} else {
				s.versions[path] = version
			}
		}
	}
	s.batch, s.pending = newBatch(), map[string]string{}
	s.mu.Lock()
	s.scanned, s.documents = s.seen, len(s.versions)
	s.mu.Unlock()
	return nil
}
