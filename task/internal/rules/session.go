package rules

// share writes a call's changes of the context's state, in the batch with the end of the call.
func (d *Draft) share(delta map[string]any) error {
	if len(delta) == 0 {
		return nil
	}
	rows, after, err := d.f.Shared(delta)
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		d.rows = append(d.rows, rows...)
		d.f.SetSession(after)
	}
	return nil
}
