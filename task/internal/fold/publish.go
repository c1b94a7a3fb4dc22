package fold

import (
	"a2a-server/task"
	"a2a-server/task/internal/output"
)

// Publisher returns the publisher of the task of f, for events of at most limit bytes.
func (f *Fold) Publisher(p task.Presenter, limit int) output.Publisher {
	return output.NewPublisher(f.View.IDs(), p, limit)
}

// Publish folds events that are about to be appended.
func (f *Fold) Publish(events []output.RunEvent) {
	for i := range events {
		switch k := &events[i]; {
		case k.Progress != nil:
			f.View.AddProgress(k.Progress)
		case k.Kept == nil:
			f.View.AddArtifact(&k.Update)
		default:
			if c := f.Call(k.Kept.Call); c != nil {
				c.keep(k.Kept)
			}
		}
		f.Count(len(events[i].Event.Data))
	}
}

// Publishable returns events without the reports of progress that the task has no status
// for: it is not working.
func (f *Fold) Publishable(events []output.RunEvent) []output.RunEvent {
	if f.Header.State == task.StateWorking {
		return events
	}
	kept := events[:0]
	for i := range events {
		if events[i].Progress == nil {
			kept = append(kept, events[i])
		}
	}
	return kept
}
