//go:build !linux

package boltstore

import (
	"errors"
	"os"
)

// inPlace is not known here.
func inPlace(*os.File) bool { return false }

// allocate is not supported here.
func allocate(*os.File, int64, int64) error { return errors.ErrUnsupported }
