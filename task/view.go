package task

import "a2a-server/task/internal/view"

// View is a task as a client sees it.
type View = view.View

// ViewOptions select the parts of a [View].
type ViewOptions = view.Options

// Omitted is the metadata key of a task that lists the parts left out of a response because it
// was too large: "artifacts", "history" or both. GetTask returns the whole task.
const Omitted = view.Omitted

// Damaged is the metadata key of a task that is true if the stored task is damaged: a list
// then shows only its id and the rest that is still known, and GetTask fails.
const Damaged = "urn:a2a-server:damaged"
