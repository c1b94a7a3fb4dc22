//go:build !linux && !darwin

package terminal

import "errors"

// discard returns an error, because this system has no known way to drop unread input. No
// question is asked here.
func discard(uintptr) error { return errors.ErrUnsupported }
