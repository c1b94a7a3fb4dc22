package approval

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
)

// markLength is the length of a mark, in characters: 30 bits.
const markLength = 6

// Mark returns the mark of a restoration from a backup, by its id. It ends the ids of all calls
// and approvals that follow the restoration in a task: without it, calls and approvals that were
// lost with the time after the backup could have had the same ids.
func Mark(restoration string) string {
	sum := sha256.Sum256([]byte("mark of a restoration\x00" + restoration))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:markLength])
}

// CallID returns the id of call n of a step. mark is that of the newest restoration of the task,
// "" if there was none.
func CallID(step, n int, mark string) string { return marked(fmt.Sprintf("c%d.%d", step, n), mark) }

// ID returns the id of approval n of a task; see [CallID] for mark.
func ID(task string, n int, mark string) string { return marked(fmt.Sprintf("%s.a%d", task, n), mark) }

func marked(id, mark string) string {
	if mark == "" {
		return id
	}
	return id + "-" + mark
}

// markOf returns the mark in the id of a call or an approval, "" if it has none.
func markOf(id string) string {
	_, number, _ := cutLast(id, ".")
	_, mark, _ := strings.Cut(number, "-")
	return mark
}
