package task

import "a2a-server/approval"

// names returns what the calls of the task are called, all that it ever had.
func (f *fold) names() approval.Names {
	names := approval.Names{}
	for _, s := range f.Steps {
		for _, c := range s.Progress {
			names.Add(c.ID, c.Alias)
		}
	}
	return names
}
