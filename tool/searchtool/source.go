package searchtool

import "context"

// A Document is something that can be found.
type Document struct {
	// Path names the document in citations. Its extension says how to read the content:
	// Markdown, HTML, JSON or, for any other, plain text.
	Path string
	// Version differs whenever the content does. A document is indexed again if it has another
	// version than before.
	Version string
	Size    int64 // bytes
}

// A Source has the documents that a tool searches. It is safe for concurrent use.
type Source interface {
	// Documents returns at most limit documents, with different paths. omitted says, for people,
	// which documents are missing and what to do about it; "": none are. After an error the index
	// stays as it is.
	Documents(ctx context.Context, limit int) (all []Document, omitted string, err error)
	// Read returns a document as it is now: its content, in UTF-8, and the version of this
	// content. It may fail if the content has more than limit bytes. A document that cannot be
	// read is left out until its version changes.
	Read(ctx context.Context, path string, limit int64) (content []byte, version string, err error)
}
