// Package ownkeys makes new keys for a server's own signatures, tokens and secrets.
package ownkeys

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"a2a-server/internal/app/config"
	"a2a-server/internal/keyring"
	"a2a-server/internal/lists"
	"a2a-server/internal/suggest"
)

// Purposes returns the purposes of the server's own keys.
func Purposes() []string {
	return lists.Map(keyring.Purposes(), func(p keyring.Purpose) string { return string(p) })
}

// Rotate makes a new key for a purpose (see [Purposes]) of the server with a configuration,
// whether it runs or not. Signatures and tokens of the old key are accepted until the time
// that Rotate returns, and a server that runs has the new key within seconds.
func Rotate(conf *config.Config, purpose string, now time.Time) (until time.Time, err error) {
	folder := conf.KeysFolder()
	switch all := Purposes(); {
	case !slices.Contains(all, purpose):
		return time.Time{}, fmt.Errorf("%w: there are no keys for %q%s; known are %s", config.ErrUnusable, purpose, suggest.DidYouMean(purpose, "", all), strings.Join(all, ", "))
	case folder == "":
		return time.Time{}, fmt.Errorf("%w: the store is not a file, so that the server's own keys are in memory: a restart makes new ones", config.ErrUnusable)
	}
	until, err = keyring.Rotate(folder, keyring.Purpose(purpose), now)
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, fmt.Errorf("there is no key for %s in %s yet: the server makes it when it starts", purpose, folder)
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("make a new key for %s: %w", purpose, err)
	}
	return until, nil
}
