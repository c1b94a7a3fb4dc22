package a2aserver

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"a2a-server/internal/app/config"
	"a2a-server/internal/keyring"
	"a2a-server/internal/suggest"
)

// openKeys opens the server's own keys, in the data folder. Without a file of tasks there,
// they are in memory: the tokens that they authenticate end with the process too. Call it with
// the store open, which keeps other servers out of the folder.
func (c *Config) openKeys(conf *config.Config) (*keyring.Keyring, error) {
	return keyring.Open(keyring.Config{Folder: c.keysFolder(conf), Now: c.Now, Log: c.Log})
}

// keysFolder returns the folder of the server's own keys; "" if they are in memory.
func (c *Config) keysFolder(conf *config.Config) string {
	if c.Store != nil || conf.Store == "memory" {
		return ""
	}
	return filepath.Join(conf.Data, "keys")
}

// KeyPurposes returns the purposes of the server's own keys.
func KeyPurposes() []string {
	var all []string
	for _, p := range keyring.Purposes() {
		all = append(all, string(p))
	}
	return all
}

// RotateKey makes a new key for a purpose (see [KeyPurposes]) of the server that c configures,
// whether it runs or not. Signatures and tokens of the old key are accepted until the time
// that RotateKey returns, and a server that runs has the new key within seconds.
func RotateKey(c Config, purpose string) (until time.Time, err error) {
	conf, err := c.load()
	if err != nil {
		return time.Time{}, err
	}
	folder := c.keysFolder(conf)
	switch all := KeyPurposes(); {
	case !slices.Contains(all, purpose):
		return time.Time{}, fmt.Errorf("%w: there are no keys for %q%s; known are %s", ErrConfig, purpose, suggest.DidYouMean(purpose, "", all), strings.Join(all, ", "))
	case folder == "":
		return time.Time{}, fmt.Errorf("%w: the store is not a file, so that the server's own keys are in memory: a restart makes new ones", ErrConfig)
	}
	now := time.Now
	if c.Now != nil {
		now = c.Now
	}
	until, err = keyring.Rotate(folder, keyring.Purpose(purpose), now())
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, fmt.Errorf("there is no key for %s in %s yet: the server makes it when it starts", purpose, folder)
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("make a new key for %s: %w", purpose, err)
	}
	return until, nil
}
