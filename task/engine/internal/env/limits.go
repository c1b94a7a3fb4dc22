package env

import (
	"fmt"

	"a2a-server/internal/share"
)

// TooMany is the text about a limit of calls or tasks that wait for something.
func TooMany(full *share.Full, these, something string) string {
	if full.Own {
		these += " of this caller"
	}
	return fmt.Sprintf("%d %s already wait for %s, which is the limit", full.Limit, these, something)
}
