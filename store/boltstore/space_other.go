//go:build !linux

package boltstore

import (
	"errors"
	"os"
)

// allocate is not supported here.
func allocate(*os.File, int64, int64) error { return errors.ErrUnsupported }
