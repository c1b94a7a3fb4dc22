package remote

import (
	"context"

	"a2a-server/client"
	"a2a-server/cmd/a2a-server/internal/cli"
)

// ApprovalList is the output of 'approvals list -o json'.
type ApprovalList struct {
	Items   []client.Approval `json:"items"`
	Damaged int               `json:"damaged,omitempty"` // how many cannot be read
	More    bool              `json:"more,omitempty"`    // not all are listed
	Reach   *client.Reach     `json:"reach,omitempty"`   // which the caller may see
}

// ListApprovals returns the approvals that q selects, at most limit.
func (s *Server) ListApprovals(ctx context.Context, q client.ApprovalQuery, limit int) (*ApprovalList, error) {
	all := &ApprovalList{}
	var err error
	all.Items, all.More, err = cli.Collect(limit, func(limit int, cursor string) ([]client.Approval, string, error) {
		q.Limit, q.Cursor = limit, cursor
		page, err := s.Approvals(ctx, q)
		all.Damaged += page.Damaged
		all.Reach = page.Reach
		return page.Items, page.Next, s.Explain(err)
	})
	return all, err
}

// FindApproval returns the approval that text means.
func (s *Server) FindApproval(ctx context.Context, text string) (*client.ApprovalDetail, error) {
	id, err := s.ApprovalID(ctx, text)
	if err != nil {
		return nil, err
	}
	d, err := s.Approval(ctx, id)
	if err != nil {
		return nil, s.Explain(err)
	}
	return &d, nil
}

// TaskList is the output of 'tasks list -o json'.
type TaskList struct {
	Items []client.Task `json:"items"`
	More  bool          `json:"more,omitempty"`  // not all are listed
	Reach *client.Reach `json:"reach,omitempty"` // which the caller may see
}

// ListTasks returns the tasks that q selects, at most limit.
func (s *Server) ListTasks(ctx context.Context, q client.TaskQuery, limit int) (*TaskList, error) {
	all := &TaskList{}
	var err error
	all.Items, all.More, err = cli.Collect(limit, func(limit int, cursor string) ([]client.Task, string, error) {
		q.Limit, q.Cursor = limit, cursor
		page, err := s.Tasks(ctx, q)
		all.Reach = page.Reach
		return page.Items, page.Next, s.Explain(err)
	})
	return all, err
}

// FindTask returns the task that text means.
func (s *Server) FindTask(ctx context.Context, text string) (*client.TaskDetail, error) {
	id, err := s.TaskID(ctx, text)
	if err != nil {
		return nil, err
	}
	d, err := s.Task(ctx, id)
	if err != nil {
		return nil, s.Explain(err)
	}
	return &d, nil
}
