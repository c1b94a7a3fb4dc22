package remote

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"a2a-server/client"
	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/internal/lists"
	"a2a-server/internal/visible"
)

const (
	// wholeID is the length of the id of a task.
	wholeID = 36
	// shortID is how many characters of it are shown. Ids begin with the time, so the end tells
	// them apart.
	shortID = 8
	// minEnding is how many characters an ending needs at least.
	minEnding = 4
	// maxSearched is how many entries are searched for an ending.
	maxSearched = 2000
)

// ShortID returns the end of an id of a task, an approval or a context, as people write it.
func ShortID(id string) string {
	of, rest, found := strings.Cut(id, ".")
	if len(of) == wholeID {
		of = of[wholeID-shortID:]
	}
	if found {
		of += "." + rest
	}
	return visible.Line(of)
}

// ShortIDs returns a function like [ShortID] with results that are unique among ids.
func ShortIDs(ids []string) func(string) string {
	slices.Sort(ids)
	count := map[string]int{}
	for _, id := range slices.Compact(ids) {
		count[ShortID(id)]++
	}
	return func(id string) string {
		if count[ShortID(id)] > 1 {
			return id
		}
		return ShortID(id)
	}
}

// ending reports whether a person means id by text: its end, or for an approval the end of its
// task.
func ending(id, text string) bool {
	of, _, _ := strings.Cut(id, ".")
	return strings.HasSuffix(id, text) || strings.HasSuffix(of, text)
}

// isWhole reports whether text is a whole id.
func isWhole(text string) bool {
	of, _, _ := strings.Cut(text, ".")
	return len(of) == wholeID
}

// chosen returns the id that text means.
func (s *Server) chosen(text, of string, ids []string) (string, error) {
	slices.Sort(ids)
	found := slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return !ending(id, text) })
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", fmt.Errorf("there is no %s whose id ends with %s: '%s' has them", of, visible.Quote(text, 80), s.Command(of+"s", "list"))
	}
	return "", cli.Usage("the ids of %d %ss end with %s; write more of one:\n%s", len(found), of, visible.Quote(text, 80), strings.Join(found[:min(len(found), 10)], "\n"))
}

// checkEnding returns an error for a text that cannot be the end of an id.
func (s *Server) checkEnding(text, of string) error {
	for _, c := range []byte(text) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '-' && c != '.' {
			return cli.Usage("%s is not the id of one %s; '%s' has them", visible.Quote(text, 80), of, s.Command(of+"s", "list"))
		}
	}
	if len(text) < minEnding {
		return cli.Usage("%s is too short for the end of an id: write at least %d characters", visible.Quote(text, 80), minEnding)
	}
	return nil
}

// ApprovalID returns the id of the approval that text means: a whole id, or a unique ending of
// an id. Pending approvals come first.
func (s *Server) ApprovalID(ctx context.Context, text string) (string, error) {
	if isWhole(text) && strings.Contains(text, ".") {
		return text, nil
	}
	if err := s.checkEnding(text, "approval"); err != nil {
		return "", err
	}
	var found string
	var err error
	for _, state := range []client.State{client.Pending, "settled"} {
		all, failed := s.ListApprovals(ctx, client.ApprovalQuery{State: state}, maxSearched)
		if failed != nil {
			return "", failed
		}
		found, err = s.chosen(text, "approval", lists.Map(all.Items, func(a client.Approval) string { return a.ID }))
		if err == nil || cli.CodeOf(err) == cli.ExitUsage { // several are meant
			break
		}
	}
	return found, err
}

// TaskID returns the id of the task that text means: a whole id, or a unique ending of an id.
func (s *Server) TaskID(ctx context.Context, text string) (string, error) {
	if isWhole(text) {
		return text, nil
	}
	if err := s.checkEnding(text, "task"); err != nil {
		return "", err
	}
	all, err := s.ListTasks(ctx, client.TaskQuery{}, maxSearched)
	if err != nil {
		return "", err
	}
	return s.chosen(text, "task", lists.Map(all.Items, func(t client.Task) string { return t.ID }))
}
