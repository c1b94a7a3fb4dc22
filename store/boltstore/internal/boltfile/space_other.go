//go:build !linux

package boltfile

import (
	"errors"
	"os"
)

// inPlace is not known here.
func inPlace(*os.File) bool { return false }

// allocate is not supported here.
func allocate(*os.File, int64, int64) error { return errors.ErrUnsupported }

func release(*os.File, int64, int64) error { return errors.ErrUnsupported }

// available is not known here.
func available(*os.File) (bytes int64, known bool) { return 0, false }

func allocated(os.FileInfo) int64 { return 0 }
