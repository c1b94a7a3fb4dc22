package a2aserver

import (
	"embed"
	"io/fs"
)

// documents are the documents for people who use or run a server, without pictures.
//
//go:embed docs/admin.md docs/approvals-api.md docs/approvals.md docs/clients.md docs/concepts.md docs/configuration.md docs/deploy.md docs/errors.md docs/grpc.md docs/inbox.md docs/keys.md docs/library.md docs/model.md docs/notifications.md docs/oidc.md docs/operations.md docs/policy.md docs/push.md docs/security.md docs/task-states.md docs/tools.md docs/tour.md
var documents embed.FS

// documentation returns the documents by their names.
func documentation() fs.FS {
	below, err := fs.Sub(documents, "docs")
	if err != nil {
		panic(err) // the name is valid
	}
	return below
}
