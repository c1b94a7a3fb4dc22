package view

import (
	"bytes"
	"encoding/json"
	"slices"
)

// detail is how much of a task a View keeps. Parts that it does not keep are dropped for
// good, and not added later.
type detail int

const (
	whole       detail = iota
	noArtifacts        // all but the artifacts
	noHistory          // nor the history
	outline            // the ids, and the newest state and time; it must not be shown
)

// Omitted is [task.Omitted].
const Omitted = "urn:a2a-server:omitted"

// Keeps reports whether the View has the history and, if wanted, the artifacts.
func (v *View) Keeps(artifacts bool) bool {
	return v.detail == whole || v.detail == noArtifacts && !artifacts
}

// Omit makes the View keep no artifacts, or neither artifacts nor history.
func (v *View) Omit(artifacts, history bool) {
	switch {
	case history:
		v.keep(noHistory)
		v.own()
	case artifacts:
		v.keep(noArtifacts)
	}
}

// Lighten drops as much as needed for the View to hold at most limit bytes: first the
// artifacts, then the history, then everything but an [outline]. The rest is copied, so
// that it keeps nothing else in memory.
func (v *View) Lighten(limit int) {
	if v.size <= limit || v.detail == outline {
		return
	}
	for v.size > limit && v.detail < outline {
		v.keep(v.detail + 1)
	}
	v.own()
}

// own copies the kept parts of the View, so that it keeps no larger buffers in memory.
func (v *View) own() {
	v.message, v.baseMetadata = v.message.clone(), bytes.Clone(v.baseMetadata)
	v.statusMetadata, v.metadata = bytes.Clone(v.statusMetadata), bytes.Clone(v.metadata)
	history := make([]message, len(v.history))
	for i := range history {
		history[i] = v.history[i].clone()
	}
	v.history = history
}

// keep drops the parts that a View of detail d does not keep.
func (v *View) keep(d detail) {
	if d <= v.detail {
		return
	}
	v.detail = d
	if d >= noArtifacts {
		for i := range v.artifacts {
			v.size -= v.artifacts[i].size()
		}
		v.artifacts, v.artifactIndex = nil, nil
	}
	if d >= noHistory {
		for _, m := range v.history {
			v.size -= m.size()
		}
		v.history, v.messageAt = nil, 0
	}
	if d == outline {
		*v = View{ids: v.ids, begun: v.begun, state: v.state, at: v.at, detail: outline, size: viewOverhead + len(v.ids.Task) + len(v.ids.Context)}
	}
}

// Brief returns a copy of the View without artifacts and history, with its own memory. It is
// for responses for which memory is short: their metadata names the missing parts.
func (v *View) Brief() *View {
	b := *v
	b.keep(noHistory)
	b.own()
	return &b
}

// Masked returns a copy of the View for a reader without the right to masked values: with the masked forms
// of questions and, if bare, without all other messages, artifacts and metadata of a status.
func (v *View) Masked(bare bool) *View {
	m := *v
	if bare {
		m.keep(noHistory)
		m.message, m.statusMetadata, m.metadata = message{whole: m.message.masked}, nil, m.baseMetadata
		return &m
	}
	m.history = slices.Clone(v.history)
	for i := range m.history {
		m.history[i] = m.history[i].shown()
	}
	m.message = m.message.shown()
	return &m
}

// metadataWith returns the metadata, with the parts that o selects but the View does not
// keep under [Omitted].
func (v *View) metadataWith(o Options) json.RawMessage {
	artifacts, history := v.detail >= noArtifacts && !o.NoArtifacts, v.detail >= noHistory && o.HistoryLength != 0
	switch {
	case artifacts && history:
		return MergeMetadata(v.metadata, json.RawMessage(`{"`+Omitted+`":["artifacts","history"]}`))
	case artifacts:
		return MergeMetadata(v.metadata, json.RawMessage(`{"`+Omitted+`":["artifacts"]}`))
	case history:
		return MergeMetadata(v.metadata, json.RawMessage(`{"`+Omitted+`":["history"]}`))
	}
	return v.metadata
}
