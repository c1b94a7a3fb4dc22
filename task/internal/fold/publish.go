package fold

import (
	"a2a-server/task"
	"a2a-server/task/internal/output"
)

// Publisher returns the publisher of the task of f, for events of at most limit bytes.
func (f *Fold) Publisher(p task.Presenter, limit int) output.Publisher {
	return output.NewPublisher(f.View.IDs(), p, limit)
}

// Publish folds chunks that are about to be appended.
func (f *Fold) Publish(chunks []output.Chunk) {
	for i := range chunks {
		switch k := &chunks[i]; {
		case k.Progress != nil:
			f.View.AddProgress(k.Progress)
		case k.Kept == nil:
			f.View.AddArtifact(&k.Update)
		default:
			if c := f.Call(k.Kept.Call); c != nil {
				c.keep(k.Kept)
			}
		}
		f.Count(len(chunks[i].Event.Data))
	}
}

// Publishable returns chunks without the reports of progress that the task has no status
// for: it is not working.
func (f *Fold) Publishable(chunks []output.Chunk) []output.Chunk {
	if f.Header.State == task.StateWorking {
		return chunks
	}
	kept := chunks[:0]
	for i := range chunks {
		if chunks[i].Progress == nil {
			kept = append(kept, chunks[i])
		}
	}
	return kept
}
