//go:build !linux || !(amd64 || arm64)

package bench

import "errors"

// evict cannot be done here.
func evict(string) error {
	return errors.New("this system is not told how to drop a file from memory; run this benchmark on Linux")
}
