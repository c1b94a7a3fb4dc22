package remote

import (
	"context"

	"a2a-server/client"
	"a2a-server/cmd/a2a-server/internal/cli"
)

// ListApprovals returns the approvals that q selects, at most limit.
func (s *Server) ListApprovals(ctx context.Context, q client.ApprovalQuery, limit int) (*cli.Listed[client.Approval], error) {
	return cli.Collect(limit, func(all *cli.Listed[client.Approval], limit int, cursor string) (string, error) {
		q.Limit, q.Cursor = limit, cursor
		page, err := s.Approvals(ctx, q)
		all.Items, all.Damaged, all.Reach = append(all.Items, page.Items...), all.Damaged+page.Damaged, page.Reach
		return page.Next, s.Explain(err)
	})
}

// FindApproval returns the approval that text means.
func (s *Server) FindApproval(ctx context.Context, text string) (*client.ApprovalDetail, error) {
	id, err := s.ApprovalID(ctx, text)
	if err != nil {
		return nil, err
	}
	d, err := s.Approval(ctx, id)
	return &d, s.Explain(err)
}

// ListTasks returns the tasks that q selects, at most limit.
func (s *Server) ListTasks(ctx context.Context, q client.TaskQuery, limit int) (*cli.Listed[client.Task], error) {
	return cli.Collect(limit, func(all *cli.Listed[client.Task], limit int, cursor string) (string, error) {
		q.Limit, q.Cursor = limit, cursor
		page, err := s.Tasks(ctx, q)
		all.Items, all.Reach = append(all.Items, page.Items...), page.Reach
		return page.Next, s.Explain(err)
	})
}

// FindTask returns the task that text means.
func (s *Server) FindTask(ctx context.Context, text string) (*client.TaskDetail, error) {
	id, err := s.TaskID(ctx, text)
	if err != nil {
		return nil, err
	}
	d, err := s.Task(ctx, id)
	return &d, s.Explain(err)
}
