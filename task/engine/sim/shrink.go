package sim

import "slices"

// Shrink looks for a smaller tape that fails by the same rule as t does. run plays a
// tape, and returns its failure and the tape as it was used. It is called at most
// tries times. Shrink returns the smallest tape found, t itself when there is none,
// and its failure; nil when t does not fail.
//
// It lets go of whole streams, of chunks of them, ever smaller, makes the rest zero in
// the same way, and at last each number smaller.
func Shrink(t Tape, tries int, run func(Tape) (*Failure, Tape)) (Tape, *Failure) {
	failure, used := run(t)
	if failure == nil {
		return t, nil
	}
	s := &shrinker{best: used.trim(), failure: failure, left: tries, run: run}
	for before := -1; before != s.rank() && s.left > 0; {
		before = s.rank()
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

// rank is what has to become smaller: the length, then what is not zero.
func (s *shrinker) rank() int { return rank(s.best) }

func rank(t Tape) int {
	n := 0
	for _, stream := range t {
		for _, v := range stream {
			n += 1 << 12
			if v > 0 {
				n += 1<<6 + min(int(v), 63)
			}
		}
	}
	return n
}

// try plays the best tape with one stream replaced, and keeps it when it fails in the
// same way and is smaller.
func (s *shrinker) try(stream int, by []uint16) bool {
	if s.left == 0 {
		return false
	}
	t := s.best
	t[stream] = by
	t = t.trim()
	if rank(t) >= s.rank() {
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

func (s *shrinker) stream(i int) {
	if len(s.best[i]) == 0 || s.try(i, nil) {
		return
	}
	for size := len(s.best[i]); size > 0 && s.left > 0; size /= 2 {
		for at := len(s.best[i]) - size; at >= 0 && s.left > 0; at -= size {
			if at+size > len(s.best[i]) {
				continue // it has become shorter
			}
			s.try(i, slices.Concat(s.best[i][:at], s.best[i][at+size:]))
		}
		for at := len(s.best[i]) - size; at >= 0 && s.left > 0; at -= size {
			if at+size > len(s.best[i]) {
				continue
			}
			zero := slices.Clone(s.best[i])
			clear(zero[at : at+size])
			s.try(i, zero)
		}
	}
	for at := 0; at < len(s.best[i]) && s.left > 0; at++ {
		for _, smaller := range []uint16{1, s.best[i][at] / 2, s.best[i][at] - 1} {
			if at < len(s.best[i]) && smaller < s.best[i][at] {
				less := slices.Clone(s.best[i])
				less[at] = smaller
				s.try(i, less)
			}
		}
	}
}
