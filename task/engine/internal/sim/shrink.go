package sim

import "slices"

// Shrink looks for a smaller tape that fails by the same rule as t does. run plays a
// tape, and returns its failure and the tape as it was used. After the first time it is
// called at most tries times. Shrink returns the smallest tape found, t itself when
// there is none, and its failure; nil when t does not fail.
//
// It makes whole streams zero, then some lanes of them, then chunks of lanes, ever
// smaller; lets go of lanes and chunks in the same way; and at last makes each number
// smaller.
func Shrink(t Tape, tries int, run func(Tape) (*Failure, Tape)) (Tape, *Failure) {
	failure, used := run(t)
	if failure == nil {
		return t, nil
	}
	s := &shrinker{best: used.trim(), failure: failure, left: tries, run: run}
	for before := -1; before != rank(s.best) && s.left > 0; {
		before = rank(s.best)
		for i := range s.best {
			s.stream(i)
		}
	}
	return s.best, s.failure
}

type shrinker struct {
	best    Tape
	failure *Failure
	left    int
	run     func(Tape) (*Failure, Tape)
}

// rank is the order of size: the number of nonzero choices, then the length.
func rank(t Tape) int {
	n := 0
	for _, lanes := range t {
		n += len(lanes)
		for _, lane := range lanes {
			n += len(lane)
			for _, v := range lane {
				if v > 0 {
					n += 1<<7 + min(int(v), 63)
				}
			}
		}
	}
	return n
}

// try plays the best tape with a stream replaced, and keeps it when it is smaller and fails in
// the same way.
func (s *shrinker) try(stream int, by [][]uint16) bool {
	if s.left == 0 {
		return false
	}
	t := s.best
	t[stream] = by
	t = t.trim()
	if rank(t) >= rank(s.best) {
		return false
	}
	s.left--
	failure, used := s.run(t)
	if failure == nil || failure.Rule != s.failure.Rule {
		return false
	}
	if used = used.trim(); rank(used) <= rank(t) {
		t = used // the end of the tape was not needed
	}
	s.best, s.failure = t, failure
	return true
}

// chunks calls f with ever smaller chunks of a length, from the end to the beginning.
// The length may become smaller meanwhile.
func (s *shrinker) chunks(length func() int, f func(from, to int)) {
	for size := length(); size > 0 && s.left > 0; size /= 2 {
		for at := length() - size; at >= 0 && s.left > 0; at -= size {
			if at+size <= length() {
				f(at, at+size)
			}
		}
	}
}

// smaller tries a list with chunks of it made zero, and then without them.
func smaller[T any](s *shrinker, list func() []T, try func([]T)) {
	length := func() int { return len(list()) }
	s.chunks(length, func(from, to int) {
		zero := slices.Clone(list())
		clear(zero[from:to])
		try(zero)
	})
	s.chunks(length, func(from, to int) { try(slices.Concat(list()[:from], list()[to:])) })
}

func (s *shrinker) stream(i int) {
	if len(s.best[i]) == 0 || s.try(i, nil) {
		return
	}
	smaller(s, func() [][]uint16 { return s.best[i] }, func(lanes [][]uint16) { s.try(i, lanes) })
	for k := 0; k < len(s.best[i]) && s.left > 0; k++ {
		s.inLane(i, k)
	}
}

func (s *shrinker) inLane(i, k int) {
	lane := func() []uint16 {
		if k < len(s.best[i]) {
			return s.best[i][k]
		}
		return nil
	}
	replace := func(by []uint16) {
		lanes := slices.Clone(s.best[i])
		lanes[k] = by
		s.try(i, lanes)
	}
	smaller(s, lane, replace)
	for at := 0; at < len(lane()) && s.left > 0; at++ {
		v := lane()[at]
		for _, less := range []uint16{1, v / 2, max(v, 1) - 1} {
			if at < len(lane()) && less < lane()[at] {
				by := slices.Clone(lane())
				by[at] = less
				replace(by)
			}
		}
	}
}
