package tool

import "errors"

// Static returns the tools that do not depend on anything: the tools of toolsets that are
// resolved once. The error has their problems, and stays the same.
func (r *Registry) Static() ([]Tool, error) {
	var known []*index
	var errs []error
	for _, m := range r.sets {
		switch {
		case !m.static:
		case m.err != nil:
			errs = append(errs, m.err)
		default:
			known = append(known, m.index)
		}
	}
	all := r.join(known)
	return all.tools, errors.Join(append(errs, all.err)...)
}
