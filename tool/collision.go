package tool

import (
	"errors"
	"fmt"
)

// ErrCollision means that two tools have the same name. Which of them is meant is unknown,
// so neither can be called.
var ErrCollision = errors.New("two tools have the same name")

// collisionError is an ErrCollision that names the toolsets.
type collisionError struct{ text string }

func (e *collisionError) Error() string        { return e.text }
func (e *collisionError) Is(target error) bool { return target == ErrCollision }

func collision(a, b *found) error {
	if a.toolset == b.toolset {
		return &collisionError{fmt.Sprintf("toolset %q has two tools called %q; rename one, or leave it out", a.toolset, a.name)}
	}
	return &collisionError{fmt.Sprintf("toolsets %q and %q both have a tool called %q; rename one, or leave it out", a.toolset, b.toolset, a.name)}
}
