package rules

// room returns how many bytes the log may still grow by.
func (d *Draft) room() int { return d.rules.Limits.Task - int(d.f.Header.Bytes) }

// openRoom returns how many bytes the log may still grow by with anything but decisions
// and outcomes of calls.
func (d *Draft) openRoom() int {
	return d.rules.Limits.OpenRoom(d.f.Busy()) - int(d.f.Header.Bytes)
}

// roomToRun reports whether another call may run: its outcome has to fit into the log.
func (d *Draft) roomToRun(running int) bool {
	l := &d.rules.Limits
	return int(d.f.Header.Bytes)+(running+1)*l.OutcomeRoom()+l.DecisionRoom() <= l.Task
}
